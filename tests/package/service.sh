#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests Apache with the drop-in conf/systemd/neoapi.conf in a machine of machine.sh: the site works, and the restrictions are in force.
set -euo pipefail
say() { printf '\n== %s\n' "$*"; }
fail() { printf 'service: %s\n' "$*"; exit 1; }

bash tests/walk >walk.log 2>&1 || { cat walk.log; exit 1; }

say 'the commands of its comment'
sed -n 's/^#   //p' /usr/share/doc/libapache2-mod-neoapi/examples/systemd/neoapi.conf >commands
grep -c systemctl commands
sh -ex commands
systemctl is-active apache2
if journalctl -b -u apache2 | grep -iE 'unknown (key|lvalue)|failed to parse'; then fail 'systemd does not understand a line'; fi

say 'requests, a reload, doctor'
runuser -u postgres -- neoapictl --database dbname=postgres setup --runtime-role www-data --admin-role root --tenant 'A second one' >second
key=$(sed -n 's/^secret  *//p' second)
host=$(hostname --fqdn)
ask() { curl --cacert /etc/neoapi/ca.pem -s -o answer -w '%{http_code}' --retry 20 --retry-connrefused --retry-delay 1 -H "X-API-Key: $key" "$@" "https://$host/public/v1/brokers"; }
[ "$(ask -H 'Content-Type: application/json' -d '{"name": "Ana"}')" = 201 ] || { cat answer; fail 'a create fails'; }
systemctl reload apache2
[ "$(ask)" = 200 ] || { cat answer; fail 'a read fails after a reload'; }
grep -q '"Ana"' answer
neoapictl doctor || fail 'doctor fails'

say 'what is denied'
pid=$(systemctl show -P MainPID apache2)
inside() { nsenter --target "$pid" --mount -- "$@"; }
# In a nested machine systemd cannot make files read-only for a service, and starts it without this restriction.
if inside findmnt -n -o OPTIONS / | grep -q '^ro'; then
    if inside touch /etc/apache2/x 2>error; then fail '/etc is writable'; fi
    grep 'Read-only file system' error
    if inside touch /usr/lib/x 2>error; then fail '/usr is writable'; fi
    inside touch /var/log/apache2/x
else
    echo 'NOT TESTED: read-only files'
fi
for process in "$pid" $(cat "/proc/$pid/task/$pid/children"); do
    grep -q '^NoNewPrivs:[[:space:]]*1$' "/proc/$process/status" || fail "process $process can gain privileges"
    grep -q '^Seccomp:[[:space:]]*2$' "/proc/$process/status" || fail "process $process has no filter of system calls"
done
[ "$(systemctl show -P MemoryMax apache2)" = $((2 << 30)) ] || fail 'memory has no limit'
systemctl show -P IPAddressDeny apache2 | grep '169.254.0.0/16'
echo 'service PASS'
