#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the module with Debian's PgBouncer, conf/pgbouncer.ini and conf/pgbouncer.conf, in a machine of machine.sh.
set -euo pipefail
say() { printf '\n== %s\n' "$*"; }
fail() { printf 'pgbouncer: %s\n' "$*"; exit 1; }

bash tests/walk >walk.log 2>&1 || { cat walk.log; exit 1; }

say 'PgBouncer as conf/pgbouncer.ini has it'
apt-get -q -y install pgbouncer 2>&1 | tail -n 1
dpkg-query -W -f '${Version}\n' pgbouncer
systemctl stop pgbouncer
cp conf/pgbouncer.ini /etc/pgbouncer/pgbouncer.ini
# The steps in the comments of conf/pgbouncer.ini.
echo 'local neoapi www-data peer' >/etc/pgbouncer/hba.conf
echo '"www-data" ""' >/etc/pgbouncer/userlist.txt
show() { (cd / && runuser -u postgres -- psql -AtqXc "show $1"); }
sed -n 's/^;   \(pgbouncer [a-z-]* www-data\)$/\1/p' conf/pgbouncer.ini >>"$(show ident_file)"
sed -i '1i local neoapi www-data peer map=pgbouncer' "$(show hba_file)"
chown postgres: /etc/pgbouncer/*
systemctl reload postgresql
neoapictl --quiet doctor || fail 'httpd can no longer connect directly'
systemctl start pgbouncer
cd /
runuser -u postgres -- psql -d neoapi -qc "alter role \"www-data\" set statement_timeout = '10s'"
cd -

say 'httpd as conf/pgbouncer.conf has it'
sed -i '/^ *DBD/d' /etc/apache2/sites-available/neoapi.conf
sed -i '/SSLEngine On/r conf/pgbouncer.conf' /etc/apache2/sites-available/neoapi.conf
systemctl restart apache2

host=$(hostname --fqdn)
runuser -u postgres -- neoapictl --database dbname=postgres setup --runtime-role www-data --admin-role root --tenant 'A second one' >second
key=$(sed -n 's/^secret  *//p' second)
ask() { curl --cacert /etc/neoapi/ca.pem -s -o answer -w '%{http_code}' -H "X-API-Key: $key" "$@" "https://$host/public/v1/brokers"; }
await() { # STATUS CURL-ARGUMENTS…
    for _ in $(seq 100); do
        got=$(ask "${@:2}")
        if [ "$got" = "$1" ]; then return 0; fi
        sleep 0.1
    done
    cat answer
    tail -n 5 /var/log/apache2/neoapi-error.log /var/log/postgresql/pgbouncer.log
    fail "not $1 but $got"
}
await 200
await 201 -H 'Content-Type: application/json' -d '{"name": "Ana"}'
for _ in $(seq 200); do [ "$(ask)" = 200 ] || fail 'a request failed'; done
echo '200 requests'
grep -q 'login attempt: db=neoapi user=www-data' /var/log/postgresql/pgbouncer.log || fail 'there was no connection through PgBouncer'
grep -q NEO0207 /var/log/apache2/neoapi-error.log || fail 'the log does not say what PgBouncer costs'

say 'doctor and status know the pooler'
neoapictl doctor || fail 'doctor fails behind PgBouncer'
neoapictl doctor | grep '^ok  *httpd: .*through a connection pooler' || fail 'doctor does not name the pooler'
neoapictl --quiet status || fail 'status warns behind PgBouncer'
systemctl stop apache2
if neoapictl doctor >examined; then fail 'doctor does not find that httpd is stopped'; fi
grep '^failed  *httpd: httpd does not run' examined
systemctl start apache2
await 200

say 'a key that is revoked ends at once: each request asks'
neoapictl key revoke "${key%_*}"
[ "$(ask)" = 401 ] || fail 'it still holds'
