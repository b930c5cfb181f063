#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Upgrades a serving host, in a machine of machine.sh: the walk with the older package, continuous requests during the upgrade and
# its migration, then removal and purge of the module.
set -euo pipefail
say() { printf '\n== %s\n' "$*"; }
fail() { printf 'upgrade: %s\n' "$*"; exit 1; }

mkdir newer
mv ./*.deb newer/
mv newer/*~older_*.deb .
bash tests/walk
mv ./*.deb newer/

say 'requests while the package is upgraded'
host=$(hostname --fqdn)
runuser -u postgres -- neoapictl --database dbname=postgres setup --runtime-role www-data --admin-role root --tenant 'A second one' >second
key=$(sed -n 's/^secret  *//p' second)
ask() { curl --cacert /etc/neoapi/ca.pem -s -o /dev/null -w '%{http_code}\n' -H "X-API-Key: $key" "https://$host/public/v1/brokers"; }
[ "$(ask)" = 200 ] || fail 'it does not serve before the upgrade'
touch asking
for client in 1 2 3 4; do (while [ -e asking ]; do ask; done >"answers.$client") & done
neoapictl migrate
printf '<IfModule mpm_event_module>\n    MaxRequestWorkers 800\n</IfModule>\n' >>/etc/apache2/conf-available/server-neoapi.conf
processes() { apachectl -t -D NEOAPI_REPORT 2>&1 | grep -o '"processes": *[0-9]*'; }
[ "$(processes | tr -dc 0-9)" = 2 ] || { processes; fail "the administrator's number is not used"; }
edited() { md5sum /etc/apache2/sites-available/neoapi.conf /etc/apache2/conf-available/server-neoapi.conf; }
edited >before
# Every file of the older package differs from the newer one's. Without a terminal a question about one of them would fail.
apt-get -q -y install ./newer/*[0-9]_*.deb </dev/null >upgraded 2>&1 || { cat upgraded; fail 'the upgrade failed'; }
tail -n 3 upgraded
dpkg-query -W -f '${Version}\n' libapache2-mod-neoapi | tee version
grep -qv older version || fail 'it was not upgraded'
if grep -rl '^# of the older package' /etc/apache2; then fail 'a file of the older package is left'; fi
edited | diff before - || fail 'the upgrade changed a file of the administrator'
if grep 'of the older package' /usr/share/libapache2-mod-neoapi/server-neoapi.conf; then fail "the package's numbers are the older ones"; fi
neoapictl migrate
systemctl is-active apache2
for _ in $(seq 100); do
    if ! grep -qs 'mod_neoapi.so (deleted)' /proc/[0-9]*/maps; then break; fi
    sleep 0.1
done
if grep -s 'mod_neoapi.so (deleted)' /proc/[0-9]*/maps; then fail 'the old module is still loaded'; fi
rm asking
wait
sort answers.* | uniq -c
if grep -qv '^200$' answers.*; then fail 'requests failed'; fi
[ "$(ask)" = 200 ] || fail 'it does not serve after the upgrade'

# Prints how often Apache has been started or restarted.
starts() { grep -c 'resuming normal operations' /var/log/apache2/error.log || true; }

say 'removed: Apache goes on without it'
a2enconf -q server-neoapi
before=$(starts)
apt-get -q -y remove libapache2-mod-neoapi | tail -n 2
echo "restarts of Apache: $(($(starts) - before))"
[ $(($(starts) - before)) -le 1 ] || fail 'Apache was restarted more than once'
systemctl is-active apache2
apachectl configtest
if [ -e /etc/apache2/mods-enabled/neoapi.load ] || [ -e /etc/apache2/sites-enabled/neoapi.conf ]; then fail 'it is still enabled'; fi

say 'installed again: what was enabled is enabled'
apt-get -q -y install ./newer/*[0-9]_*.deb 2>&1 | tail -n 2
a2query -m neoapi
a2ensite -q neoapi
systemctl restart apache2
[ "$(ask)" = 200 ] || fail 'it does not serve after it was installed again'

say 'enabled by hand on a running Apache without a site'
a2dissite -q neoapi
a2dismod -q neoapi
systemctl reset-failed apache2 # on a fast machine systemd takes this many starts for a service that cannot stay up
systemctl restart apache2
: >/var/log/apache2/error.log
a2enmod -q neoapi
systemctl reload apache2
systemctl is-active apache2
for _ in $(seq 100); do if grep NEO0116 /var/log/apache2/error.log; then break; fi; sleep 0.1; done
grep -q NEO0116 /var/log/apache2/error.log || fail 'the log does not say what to do'

say 'purged: what the administrator made is left'
before=$(starts)
apt-get -q -y purge libapache2-mod-neoapi | tail -n 2
echo "restarts of Apache: $(($(starts) - before))"
[ $(($(starts) - before)) -le 1 ] || fail 'Apache was restarted more than once'
if ls /var/log/apache2/neoapi-*.log*; then fail 'its logs are left'; fi
systemctl is-active apache2
find / -xdev -name '*neoapi*' -not -path '/root/*' -not -path '/proc/*' -not -path '/var/cache/*' -not -path '/var/log/*' | tee left
[ "$(cat left)" = /etc/neoapi ] || fail 'something is left'
ls /etc/neoapi
