#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs commands of doc/administration.md in a machine of machine.sh: replaces the encryption key, sets up a standby and promotes it, and
# compares what clients notice with the table there. Both servers are clusters of this machine: the standby has another port and is
# named "standby".
set -euo pipefail
say() { printf '\n== %s\n' "$*"; }
fail() { printf 'administration: %s\n' "$*"; exit 1; }

bash tests/walk >walk.log 2>&1 || { cat walk.log; exit 1; }
host=$(hostname --fqdn)
version=$(pg_lsclusters -h | awk '{print $1; exit}')
export REQUESTS_CA_BUNDLE=/etc/neoapi/ca.pem

# blocks COUNT HEADING: writes the blocks of commands under this heading to block.1 and so on.
blocks() {
    rm -f block.*
    awk -v heading="$2" '/^## /{ours = 0} /^##/ && $0 ~ heading {ours = 1} !ours {next}
        /^    /{if (!inside) n++; inside = 1; sub(/^    /, ""); print >"block." n; next} {inside = 0}' administration.md
    [ "$(find . -maxdepth 1 -name 'block.*' | wc -l)" = "$1" ] || fail "the section $2 has other blocks of commands"
}

# block NUMBER [SED-SCRIPT]: runs a block, with the names that differ here replaced.
block() {
    sed -e "s/^version=15/version=$version/; s/db1\.example\.com/$host/; s|10\.0\.0\.0/24|127.0.0.0/8|" -e "${2:-}" "block.$1" >commands
    say "block $1"
    cat commands
    bash -euc "$(cat commands)" || fail 'that failed'
}
standby_names="s/-main/-standby/; s|/main|/standby|"
streams() { sql "$1" -c 'select state from pg_stat_replication' | grep -q streaming; }
is_replayed() { [ "$(sql 5432 -c 'select pg_current_wal_lsn() <= replay_lsn from pg_stat_replication')" = t ]; }
has_caio() { [ "$(sql 5432 -d neoapi -c "select count(*) from neoapi.broker where name = 'Caio'")" = 1 ]; }
sql() { (cd / && runuser -u postgres -- psql -AtqX -p "$@"); }

await() { # DESCRIPTION COMMAND…
    for _ in $(seq 600); do
        if "${@:2}"; then return 0; fi
        sleep 0.1
    done
    tail -n 20 /var/log/apache2/neoapi-error.log answer || true
    fail "not within a minute: $1"
}

blocks 3 '^### The encryption key'
secrets() { neoapictl --json doctor | python3 -c 'import json, sys; print(*(row["found"] for row in json.load(sys.stdin) if row["check"] == "encrypted secrets"))'; }
secrets | tee all
count=$(tr -dc 0-9 <all)
block 1
secrets | grep -F "key 1 encrypts 0, key 2 encrypts $count" || fail 'doctor does not count by key'
block 2
secrets | grep -F "key 1 encrypts $count, key 2 encrypts 0; a former key" || fail 'doctor does not say that the former key can be removed'
block 3
secrets | diff all - || fail 'the secrets cannot be decrypted with the new key alone'
[ "$(grep -c . /etc/neoapi/key) $(stat -c %a /etc/neoapi/key)" = '1 600' ] || fail 'the key file has other keys or another mode'

blocks 7 '^## Standbys'
say 'what the section expects: certificates, and services that name both servers'
cp "/etc/ssl/certs/$host.pem" /etc/postgresql/server.pem
install -o postgres -m 600 "/etc/ssl/private/$host.key" /etc/postgresql/server.key
sql 5432 -c "alter system set ssl_cert_file = '/etc/postgresql/server.pem'" -c "alter system set ssl_key_file = '/etc/postgresql/server.key'"
for service in neoapi neoapi_admin; do
    printf '[%s]\nhost=/var/run/postgresql,/var/run/postgresql\nport=5432,5433\ndbname=neoapi\ntarget_session_attrs=read-write\nconnect_timeout=3\n\n' $service
done >/etc/postgresql-common/pg_service.conf
sed -i 's/^ *DBDParams .*/    DBDParams "service=neoapi"/' /etc/apache2/sites-available/neoapi.conf
pg_createcluster "$version" standby >/dev/null
block 1
block 2 "$standby_names"
block 3
await 'the standby is connected' streams 5432
systemctl restart apache2

runuser -u postgres -- neoapictl --database dbname=postgres setup --runtime-role www-data --admin-role root --tenant 'A second one' >second
key=$(sed -n 's/^secret  *//p' second)
ask() { # STATUS PATH CURL-ARGUMENTS…: whether a request has this status
    got=$(curl --cacert /etc/neoapi/ca.pem -s -D headers -o answer -w '%{http_code}' -H "X-API-Key: $key" "${@:3}" "https://$host/public/v1/$2")
    [ "$got" = "$1" ]
}
create() { ask "$1" brokers -H 'Content-Type: application/json' -H "Idempotency-Key: $2" -d "{\"name\": \"$3\"}"; }
ana=$(cat /proc/sys/kernel/random/uuid) bia=$(cat /proc/sys/kernel/random/uuid)
await 'a create succeeds' create 201 "$ana" Ana
cp answer first
ask 200 'events?order=asc&after=now' || fail 'no position'
position=$(sed -n 's/^x-events-position: *\([^[:space:]]*\).*/\1/Ip' headers)
API=https://$host/public/v1/ KEY=$key python3 sync.py copy.db >followed 2>&1 &
follower=$!
trap 'kill $follower' EXIT
copied() { python3 -c 'import sqlite3; print(*(body for body, in sqlite3.connect("copy.db").execute("select body from record")))' 2>/dev/null | grep -qF "$1"; }
await 'the follower has the record' copied '"Ana"'

say 'the primary fails'
await 'the standby has the writes' is_replayed
# A write that is not replicated, but read by the follower.
systemctl stop postgresql@"$version"-standby
create 201 "$bia" Lost || { cat answer; fail 'the primary does not write alone'; }
await 'the follower has the write that is lost' copied '"Lost"'
block 4
await 'reads get 503' ask 503 brokers
grep -qi '^retry-after' headers || fail 'there is no Retry-After'

say 'httpd uses the standby'
systemctl start postgresql@"$version"-standby
block 7
await 'reads succeed' ask 200 brokers
grep -q '"Ana"' answer || { cat answer; fail 'the record is missing'; }
create 503 "$bia" Bia || { cat answer; fail 'a write does not get 503'; }
cat answer
grep -qi 'nothing was changed' answer || fail 'the response does not say that nothing was changed'
ask 200 events || fail 'the event log cannot be read'
ask 503 brokers/export || fail 'an export without an entry of the audit log is not refused'
grep -q NEO0214 /var/log/apache2/neoapi-error.log || fail 'the log does not say why'

say 'it is promoted'
block 5 's/psql/psql -p 5433/'
await 'a create succeeds' create 201 "$bia" Bia
create 201 "$ana" Ana || { cat answer; fail 'the repetition of the first request is not replayed'; }
cmp answer first || fail 'the first response is not replayed'
await 'a new epoch refuses the position' ask 400 "events?order=asc&after=$position"
grep -q 'position_expired' answer || { cat answer; fail 'the position is refused for another reason'; }
await 'the follower has exported again' copied '"Bia"'
if copied '"Lost"'; then fail 'the follower still has the write that was lost'; fi
sed -i 's/^target_session_attrs=.*/target_session_attrs=read-write/' /etc/postgresql-common/pg_service.conf
systemctl reload apache2
await 'it serves with the services as before' ask 200 brokers
await 'doctor finds no failure' neoapictl --quiet doctor

say 'the former primary becomes the standby'
echo "hostssl replication replicator 127.0.0.0/8 scram-sha-256" >>"/etc/postgresql/$version/standby/pg_hba.conf"
systemctl reload postgresql@"$version"-standby
block 6
block 2 's/slot=db2/slot=db1/; s/user=replicator/port=5433 &/'
await 'it follows the new primary' streams 5433
create 201 "$(cat /proc/sys/kernel/random/uuid)" Caio || { cat answer; fail 'a create fails'; }
await 'it has the new record' has_caio
