#!/bin/sh
# The demo: a private deployment under BUILD/demo with two tenants, three organizations and 200 brokers.
#
#   demo.sh start BUILD     brings it up from BUILD/mod_neoapi.so and BUILD/neoapictl; again, it is harmless
#   demo.sh stop BUILD      stops it and keeps its data
#   demo.sh remove BUILD    stops it and deletes everything
#
# DEMO_PORT is Apache's port (8443), DEMO_CONF a file of httpd directives to include in the virtual host, DEMO_RETRY_DELAYS the
# seconds before each attempt to deliver a webhook ("0 1 2 3 4" for the impatient; otherwise as shipped).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=/dev/null
. "$here/../deploy/common.sh"

deploy() {
    sh "$here/../deploy/instance.sh" "$1" "$demo/instance"
}

# A demo that runs keeps its port, unless another is asked for.
port() {
    if [ -n "${DEMO_PORT:-}" ]; then
        echo "$DEMO_PORT"
    elif running "$demo/instance/run/httpd.pid" httpd.conf >/dev/null; then
        echo ''
    else
        echo 8443
    fi
}

# What the demo has in its virtual host: webhooks may go to this machine without TLS, where receivers that are being written are.
# The file is left alone where nothing is new, because Apache is started anew for a new one.
make_conf() {
    conf=$demo/demo.conf
    more=$(absolute "${DEMO_CONF:-}")
    [ -z "$more" ] || [ -r "$more" ] || die "cannot read $more"
    mkdir -p "$demo"
    {
        printf 'NeoAPIWebhookAllowHTTP On\nNeoAPIWebhookAllowAddress 127.0.0.0/8 ::1\n'
        [ -z "${DEMO_RETRY_DELAYS:-}" ] || printf 'NeoAPIWebhookRetryDelays %s\n' "$DEMO_RETRY_DELAYS"
        [ -z "$more" ] || printf 'Include "%s"\n' "$more"
    } >"$conf.new"
    if cmp -s "$conf.new" "$conf" && { [ -z "$more" ] || [ -z "$(find "$more" -newer "$conf")" ]; }; then
        rm -f "$conf.new"
    else
        mv "$conf.new" "$conf"
    fi
}

up() {
    make_conf
    env PORT="$(port)" INSTANCE_CONF="$conf" MODULE="$build/mod_neoapi.so" CTL="$build/neoapictl" \
        sh "$here/../deploy/instance.sh" up "$demo/instance" ||
        die "it could not be brought up; the reason is above (another port: make demo DEMO_PORT=N)"
    # shellcheck source=/dev/null
    . "$demo/instance/env"
    made=$NEOAPI_STATE/demo # what has been made in this database: ids and secrets
    loaded=$NEOAPI_STATE/demo.loaded
}

# Runs neoapictl and prints one member of its answer: ctl MEMBER ARGUMENT…
ctl() {
    member=$1
    shift
    answer=$("$NEOAPI_CTL" --json "$@") || die "neoapictl $* failed"
    printf '%s' "$answer" | sed -n 's/.*"'"$member"'": *"\([^"]*\)".*/\1/p' | grep .
}

# Makes tenants, organizations, users and credentials and prints them as assignments.
populate() {
    ctl name plan add integration --requests 1000000 --window 60 >/dev/null
    tenant=$(ctl id tenant add 'Grupo Horizonte (demo)' --plan integration)
    org=$(ctl id organization add 'Horizonte São Paulo' --tenant "$tenant")
    org_2=$(ctl id organization add 'Horizonte Rio de Janeiro' --tenant "$tenant")
    user=$(ctl id user add 'Administração Horizonte' --tenant "$tenant" --email admin@horizonte.example.com --role org_admin)
    ctl id user add 'Redação Horizonte' --tenant "$tenant" --email editor@horizonte.example.com --role org_editor >/dev/null
    ctl id user add 'Consulta Horizonte' --tenant "$tenant" --email viewer@horizonte.example.com --role org_viewer >/dev/null
    other=$(ctl id tenant add 'Araucária (demo)')
    other_org=$(ctl id organization add 'Araucária Curitiba' --tenant "$other")
    ctl id user add 'Administração Araucária' --tenant "$other" --email admin@araucaria.example.com --role org_admin >/dev/null

    assign NEOAPI_KEY "$(ctl secret key create 'demo: admin' --organization "$org" --role org_admin)"
    assign NEOAPI_EDITOR_KEY "$(ctl secret key create 'demo: editor' --organization "$org" --role org_editor)"
    assign NEOAPI_VIEWER_KEY "$(ctl secret key create 'demo: viewer' --organization "$org" --role org_viewer)"
    assign NEOAPI_OTHER_KEY "$(ctl secret key create 'demo: admin' --organization "$other_org" --role org_admin)"
    assign NEOAPI_TOKEN "$(ctl secret token create 'demo: both' --user "$user" --organization "$org" --organization "$org_2")"
    assign NEOAPI_TOKEN_ONE "$(ctl secret token create 'demo: one' --user "$user" --organization "$org")"
    assign NEOAPI_ORG "$org"
    assign NEOAPI_ORG_2 "$org_2"
    assign NEOAPI_OTHER_ORG "$other_org"
}

assign() {
    [ -n "$2" ] || exit 1 # what was to be assigned has said why
    printf '%s=%s\n' "$1" "$(quoted "$2")"
}

# A run that was interrupted leaves tenants whose secrets nobody knows: then everything is made anew.
make_credentials() {
    if [ ! -f "$made" ] && "$NEOAPI_CTL" --json tenant list | grep -q tnt_; then
        say "an earlier run did not finish: making the demo anew"
        deploy remove
        up
    fi
    if [ ! -f "$made" ]; then
        say "making tenants, organizations, users and credentials"
        (umask 077 && populate >"$made.new")
        mv "$made.new" "$made"
    fi
    # shellcheck source=/dev/null
    . "$made"
}

# Writes curl's instructions for the brokers read: one POST each, which prints its status.
posts() {
    sed 's/[\\"]/\\&/g' | while read -r body; do
        cat <<END
url = "${NEOAPI_URL}brokers"
cacert = "$NEOAPI_CA"
noproxy = "*"
silent
http1.1
output = "/dev/null"
write-out = "%{http_code}\n"
header = "X-API-Key: $1"
header = "X-Organization-ID: $2"
header = "Content-Type: application/json"
data-raw = "$body"
next
END
    done
}

brokers() {
    awk -v first="$1" -v count="$2" -v state="$3" -v area="$4" -f "$here/brokers.awk"
}

# Through the API, as a client would. A broker that is there already (409) comes from a run that was interrupted.
load_brokers() {
    [ ! -f "$loaded" ] || return 0
    say "creating 200 brokers through the API"
    answers=$({
        brokers 1 140 SP 11 | posts "$NEOAPI_KEY" "$NEOAPI_ORG"
        brokers 141 40 RJ 21 | posts "$NEOAPI_TOKEN" "$NEOAPI_ORG_2"
        brokers 181 20 PR 41 | posts "$NEOAPI_OTHER_KEY" "$NEOAPI_OTHER_ORG"
    } | sed '$d' | curl --no-progress-meter --parallel --parallel-max 8 --config - || true)
    created=$(printf '%s\n' "$answers" | grep -cE '^(201|409)$' || true)
    if [ "$created" -ne 200 ]; then
        printf '%s\n' "$answers" | sort | uniq -c >&2
        tail -n 5 "$NEOAPI_ERROR_LOG" >&2
        die "only $created of 200 brokers could be created; the counts of statuses and the end of the error log are above"
    fi
    : >"$loaded"
}

write_env() {
    (
        umask 077
        {
            assign NEOAPI_URL "$NEOAPI_URL"
            assign NEOAPI_CA "$NEOAPI_CA"
            cat "$made"
            assign NEOAPI_DSN "$NEOAPI_DSN"
            assign NEOAPI_PID "$NEOAPI_PID"
            assign NEOAPI_CTL "$NEOAPI_CTL"
        } >"$demo/env.new"
    )
    # with sudo it still is the caller's
    if [ -n "${SUDO_UID:-}" ] && is_root; then chown "$SUDO_UID:${SUDO_GID:-}" "$demo/env.new"; fi
    mv "$demo/env.new" "$demo/env"
}

tell() {
    read -r uuid </proc/sys/kernel/random/uuid
    creci=$(printf '%06d' $((0x$(printf '%.5s' "$uuid") % 1000000)))
    curl="curl --cacert $NEOAPI_CA -H 'X-API-Key: $NEOAPI_KEY'"
    cat <<END

The demo runs.

  Base URL   $NEOAPI_URL
  API key    $NEOAPI_KEY
  more       . $(quoted "$demo/env")

Who am I, whom is there, and one more (with its Idempotency-Key it is created once, however often it is sent):

$curl ${NEOAPI_URL}me

$curl '${NEOAPI_URL}brokers?limit=3&q=silva'

$curl -H 'Content-Type: application/json' -H 'Idempotency-Key: $uuid' -d '{"name": "Maria Exemplo", "creci": "CRECI-SP $creci-F"}' ${NEOAPI_URL}brokers

Webhooks: make demo-receiver, in another shell, shows what a receiver gets when something changes.

make demo-stop stops it and keeps its data.
END
}

[ $# -eq 2 ] || die "usage: demo.sh start|stop|remove BUILD"
build=$(absolute "$2")
demo=$build/demo
case $1 in
    start)
        up
        make_credentials
        load_brokers
        write_env
        tell
        ;;
    stop)
        deploy down
        ;;
    remove)
        deploy remove
        rm -rf "$demo"
        ;;
    *)
        die "usage: demo.sh start|stop|remove BUILD"
        ;;
esac
