#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `neoapictl site create` in a machine of machine.sh: each kind of certificate, another site on the same host, and failures, which
# change nothing and print the reason.
set -euo pipefail
say() { printf '\n== %s\n' "$*"; }
fail() { printf 'site: %s\n' "$*"; exit 1; }

export DEBIAN_FRONTEND=noninteractive
apt-get -q -y install ./libapache2-mod-neoapi_*.deb postgresql >installed 2>&1 || { cat installed; exit 1; }
host=$(hostname --fqdn)
site=/etc/apache2/sites-available/neoapi.conf

# The state that a failure must not change.
state() { find /etc/apache2 /etc/neoapi -printf '%p %l %s\n' | sort; systemctl is-active apache2; curl -sI http://localhost/ | head -n 1; }

# refused TEXT ARGUMENTS...: the command fails, prints TEXT, and changes nothing.
refused() {
    state >before
    if neoapictl site create "${@:2}" >refusal 2>&1; then fail "accepted: $*"; fi
    state >after
    cat refusal
    grep -qF -- "$1" refusal || fail "it does not say: $1"
    diff before after || fail 'something was changed'
}

certificate() { # FILE NAME DAYS
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days "$3" -subj /CN=x -addext "subjectAltName=DNS:$2" \
        -keyout "$1.key" -out "$1.pem" 2>/dev/null
}

say 'refused before anything is changed'
refused 'must be the host name' '' --self-signed
refused 'choose one certificate' "$host"
refused 'choose one certificate' "$host" --self-signed --acme admin@imobiliaria.example
refused 'used together' "$host" --certificate x.pem
refused 'openssl rand' "$host" --self-signed
(umask 077 && openssl rand -base64 32 >/etc/neoapi/key)
certificate /srv/good "$host" 30
certificate /srv/other other.example 30
refused 'is not the key' "$host" --certificate /srv/good.pem --key /srv/other.key
refused "is not for $host" "$host" --certificate /srv/other.pem --key /srv/other.key
refused 'does not exist' "$host" --certificate /srv/none.pem --key /srv/good.key
refused 'is not a certificate' "$host" --certificate /srv/good.key --key /srv/good.key
echo 'Nonsense' >/etc/apache2/conf-enabled/x.conf
refused 'has errors already' "$host" --self-signed
rm /etc/apache2/conf-enabled/x.conf

say 'refused: another program has the port'
python3 -m http.server 443 >/dev/null 2>&1 &
server=$!
for _ in $(seq 100); do if curl -s -o /dev/null http://localhost:443/; then break; fi; sleep 0.1; done
refused 'another program uses port 443' "$host" --self-signed
kill "$server"
wait "$server" || true

say 'undone: httpd does not accept the site'
cp -p /etc/neoapi/key key
echo nonsense >/etc/neoapi/key
refused 'NEO0113' "$host" --self-signed
cp -p key /etc/neoapi/key

say 'undone: httpd does not serve the site'
printf '<VirtualHost *:443>\nServerName %s\nSSLEngine On\nSSLCertificateFile /srv/other.pem\nSSLCertificateKeyFile /srv/other.key\n</VirtualHost>\n' \
    "$host" >/etc/apache2/sites-available/first.conf
a2enmod -q ssl >/dev/null
a2ensite -q first >/dev/null
systemctl restart apache2
refused "does not serve $host" "$host" --self-signed
a2dissite -q first >/dev/null
a2dismod -q -f ssl >/dev/null
systemctl restart apache2

served() { # the status of a request; further arguments are curl's
    curl -s -o answer -w '%{http_code}' --cacert /etc/neoapi/ca.pem "$@"
}
remove_site() {
    a2dissite -q neoapi >/dev/null
    rm -f "$site" /etc/neoapi/site.pem /etc/neoapi/site.key /etc/neoapi/ca.pem
}

say 'the unused default site, which has the name of the host, is disabled'
plain() { # CONTENT-TYPE: what http:// answers with
    curl -s -o answer -D headers -H 'X-API-Key: nbr_x' "http://$host/public/v1/me"
    grep -i "^content-type: $1" headers || { cat headers answer; fail "http://$host is not answered with $1"; }
}
# The finding, and its remedy if there is one, about requests without TLS.
doctor_finds() {
    { neoapictl doctor || true; } >findings
    grep -A1 "^$1  *requests without TLS" findings >finding || { cat findings; fail "doctor does not find: $1"; }
}
touch /var/www/html/used
neoapictl site create "$host" --self-signed 2>warned
grep -q "warning: http://$host is answered by /etc/apache2/sites-enabled/000-default.conf" warned || fail 'there is no warning'
plain text/html
doctor_finds failed
grep -q 'a2dissite 000-default' finding || fail 'doctor has no remedy'
a2dissite -q 000-default >/dev/null
systemctl reload apache2
plain application/problem+json
doctor_finds ok
remove_site
a2ensite -q 000-default >/dev/null
rm /var/www/html/used
neoapictl site create "$host" --self-signed 2>warned
cat warned
grep -q 'a2ensite 000-default' warned || fail 'it does not say how to enable the default site again'
plain application/problem+json
doctor_finds ok
remove_site
a2ensite -q 000-default >/dev/null
systemctl reload apache2

say 'a self-signed certificate'
echo other >/var/www/html/index.html
sed -i "s/.*#ServerName .*/ServerName other.example/" /etc/apache2/sites-available/000-default.conf
neoapictl site create "$host" --self-signed
[ "$(served "https://$host/public/v1/openapi.yaml")" = 200 ] || fail 'it is not served'
[ "$(served http://localhost/)" = 200 ] || fail 'the other site is not served'
[ "$(cat answer)" = other ] || fail 'the other site has changed'

say 'security.txt'
cp /usr/share/doc/libapache2-mod-neoapi/examples/security.txt /etc/neoapi/
cp "$site" unedited
sed -i '/# -* security.txt/,/# -* limits/s/^\( *\)#\(Alias\|<\|    \)/\1\2/' "$site"
systemctl reload apache2
[ "$(served -D headers "https://$host/.well-known/security.txt")" = 200 ] || { cat answer; fail 'it is not served'; }
grep -qi '^content-type: text/plain; *charset=utf-8' headers || { cat headers; fail 'it has another type'; }
diff answer /etc/neoapi/security.txt
[ "$(served "https://$host/.well-known/key")" = 403 ] || fail 'other files are served'
cp unedited "$site"
rm /etc/neoapi/security.txt
systemctl reload apache2

say 'without TLS'
[ "$(served -D headers -H 'X-API-Key: nbr_x' "http://$host/public/v1/me")" = 403 ] || fail 'it is not refused'
cat headers answer
grep -qi '^content-type: application/problem+json' headers || fail 'that is no problem document'
python3 -c 'import json; assert "revoke it" in json.load(open("answer"))["detail"]'

say 'only once'
refused 'exists; edit it' "$host" --self-signed
refused 'examples/several-hosts.conf' second.example --self-signed
[ -e /usr/share/doc/libapache2-mod-neoapi/examples/several-hosts.conf ] || fail 'the package has no such example'
remove_site

say 'an existing certificate'
neoapictl --json site create "$host" --certificate /srv/good.pem --key ../srv/good.key
[ "$(served "https://$host/public/v1/openapi.yaml")" = 200 ] || fail 'it is not served'
remove_site

say 'mod_md'
neoapictl site create "$host" --acme admin@imobiliaria.example
a2query -q -m md
# Until it has the certificate, mod_md answers with 503. There is no network here.
[ "$(curl -sk -o /dev/null -w '%{http_code}' "https://$host/public/v1/openapi.yaml")" = 503 ] || fail 'it is not served'
remove_site

say 'Apache was stopped'
systemctl stop apache2
neoapictl site create "$host" --self-signed
systemctl is-active apache2

say 'the settings of the whole server are optional'
[ ! -e /etc/apache2/conf-enabled/server-neoapi.conf ]
a2enconf -q server-neoapi
systemctl restart apache2
curl -sI http://localhost/ | grep -qi '^server: apache.$' || fail 'the server names its version'
