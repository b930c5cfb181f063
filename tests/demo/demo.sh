#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the demo: a private deployment under BUILD/demo with two tenants, three organizations, 200 brokers, 200 properties with
# parties, proposals, contracts and documents, and leads who answer WhatsApp messages through a simulation of Meta.
#
#   demo.sh start BUILD [NAME=VALUE...]    starts BUILD/mod_neoapi.so and BUILD/neoapictl; NAME=VALUE are settings of instance.sh
#   demo.sh stop BUILD      stops it and keeps its data
#   demo.sh remove BUILD    stops it and deletes everything
#
# NEOAPI_DEMO_PORT is Apache's port (8443), NEOAPI_DEMO_CONF a file of httpd directives to include in the virtual host,
# NEOAPI_DEMO_RETRY_DELAYS the seconds before each webhook attempt, such as "0 1 2 3 4" (default: that of NeoAPIWebhookRetryDelays).
# shellcheck disable=SC2154 # variables are shared with data.sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=/dev/null
. "$here/../deploy/common.sh"
data=$here
listing=AP1097 # the code of a property of load.py that is in the listings
# shellcheck source=/dev/null
. "$data/data.sh"

# deploy COMMAND [NAME=VALUE...]: runs instance.sh.
deploy() {
    command=$1
    shift
    sh "$here/../deploy/instance.sh" "$command" "$demo/instance" "$@"
}

# A running demo keeps its port, unless NEOAPI_DEMO_PORT is set.
port() {
    if [ -n "${NEOAPI_DEMO_PORT:-}" ]; then
        echo "$NEOAPI_DEMO_PORT"
    elif running "$demo/instance/run/httpd.pid" httpd.conf >/dev/null; then
        echo ''
    else
        echo 8443
    fi
}

# The simulation of Meta (whatsapp.py) keeps its port unless another program has taken it.
choose_whatsapp_port() {
    whatsapp_port=$(cat "$demo/whatsapp.port" 2>/dev/null || true)
    if [ -z "$whatsapp_port" ] || { ! whatsapp_pid >/dev/null && is_taken "$whatsapp_port"; }; then
        whatsapp_port=$(free_port)
        echo "$whatsapp_port" >"$demo/whatsapp.port"
    fi
}

whatsapp_pid() {
    running "$demo/whatsapp.pid" whatsapp.py
}

# Writes the demo's directives for the virtual host: portals can read listings and post leads, webhooks can be delivered to this host
# without TLS, for receivers under development, and WhatsApp messages go to the simulation. An unchanged file is not touched, because
# a newer one restarts Apache.
make_conf() {
    conf=$demo/demo.conf
    more=$(absolute "${NEOAPI_DEMO_CONF:-}")
    [ -z "$more" ] || [ -r "$more" ] || die "cannot read $more"
    mkdir -p "$demo"
    choose_whatsapp_port
    {
        printf 'NeoAPIWhatsAppURL http://127.0.0.1:%s\n' "$whatsapp_port"
        printf '<Location "/listings">\n    SetHandler neoapi-listings\n</Location>\n'
        printf '<Location "/leads">\n    SetHandler neoapi-leads\n</Location>\n'
        printf '<Location "/whatsapp/callback">\n    SetHandler neoapi-whatsapp\n</Location>\n'
        printf 'NeoAPIWebhookAllowHTTP On\nNeoAPIWebhookAllowAddress 127.0.0.0/8 ::1\n'
        [ -z "${NEOAPI_DEMO_RETRY_DELAYS:-}" ] || printf 'NeoAPIWebhookRetryDelays %s\n' "$NEOAPI_DEMO_RETRY_DELAYS"
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
    deploy up PORT="$(port)" INSTANCE_CONF="$conf" MODULE="$build/mod_neoapi.so" CTL="$build/neoapictl" "$@" ||
        die "the demo cannot start; the reason is above (to use another port: make demo DEMO_PORT=N)"
    read_deployment "$demo/instance/env"
}

# Creates a number, whose secrets the simulation shares, unless an interrupted run has created it.
make_whatsapp() {
    secrets=$NEOAPI_STATE/demo.whatsapp number=106540352242922
    if [ ! -f "$secrets" ]; then
        token=EAA$(openssl rand -hex 40)
        (umask 077 && printf 'access_token=%s\napp_secret=%s\n' "$token" "$(openssl rand -hex 16)" >"$secrets.new")
        mv "$secrets.new" "$secrets"
    fi
    if ! "$NEOAPI_CTL" --json whatsapp number list --organization "$NEOAPI_ORG" | grep -q "$number"; then
        ctl id whatsapp number create '+55 11 4000-1234' --organization "$NEOAPI_ORG" --phone-number-id "$number" \
            --waba-id 102290129340398 --secrets "$secrets" --key-file "$NEOAPI_KEY_FILE" >/dev/null
    fi
    find_lead
}

start_whatsapp() {
    if whatsapp_pid >/dev/null; then return 0; fi
    (umask 027 && : >"$demo/whatsapp.log")
    NEOAPI_URL=$NEOAPI_URL NEOAPI_CA=$NEOAPI_CA \
        setsid /usr/bin/python3 -B "$here/whatsapp.py" "$whatsapp_port" "$secrets" \
        >"$demo/whatsapp.log" 2>&1 </dev/null 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
    echo $! >"$demo/whatsapp.pid"
    tries=200
    until is_taken "$whatsapp_port"; do
        tries=$((tries - 1))
        if [ "$tries" -eq 0 ] || ! is_alive "$!"; then
            cat "$demo/whatsapp.log" >&2
            die "the simulation of Meta does not start"
        fi
        sleep 0.05
    done
}

stop_whatsapp() {
    if pid=$(whatsapp_pid); then
        kill "$pid"
        await_end 10 "$pid" || die "the simulation of Meta does not stop"
    fi
    rm -f "$demo/whatsapp.pid"
}

print_summary() {
    read -r uuid </proc/sys/kernel/random/uuid
    creci=$(printf '%06d' $((0x$(printf '%.5s' "$uuid") % 1000000)))
    ca=$(quoted "$NEOAPI_CA")
    curl="curl --cacert $ca -H 'X-API-Key: $NEOAPI_KEY'"
    cat <<END

The demo runs.

  Base URL   $NEOAPI_URL
  API key    $NEOAPI_KEY
  Docs       ${NEOAPI_URL}docs/
  Listings   $NEOAPI_LISTINGS_URL
  Leads      $NEOAPI_PORTAL_URL
  Variables  . $(quoted "$demo/env")

Check the key, list properties with at least three bedrooms for at most R\$ 900.000, and create a broker (only once, because
repetitions have the same Idempotency-Key):

$curl ${NEOAPI_URL}me

$curl '${NEOAPI_URL}properties?status=active&bedrooms_gte=3&sale_price_lte=90000000&limit=3'

$curl -H 'Content-Type: application/json' -H 'Idempotency-Key: $uuid' -d '{"name": "Maria Exemplo", "creci": "CRECI-SP $creci-F"}' ${NEOAPI_URL}brokers

Send a WhatsApp message to a lead. A simulated contact reads and answers it; paste it again after some seconds:

$curl -H 'Content-Type: application/json' -d '{"lead_id": "$lead", "template_name": "boas_vindas", "template_parameters": ["Carla", "Horizonte"]}' ${NEOAPI_URL}whatsapp/conversations

See the organization's templates, the quality of its numbers, and what its messages of this month cost:

$curl ${NEOAPI_URL}whatsapp/templates

$curl ${NEOAPI_URL}whatsapp/numbers

$curl ${NEOAPI_URL}whatsapp/usage

Do what a portal does: read the listings, and post a lead of one of them. The last command shows the lead:

curl --cacert $ca $NEOAPI_LISTINGS_URL

curl --cacert $ca -u 'portal:$NEOAPI_PORTAL_SECRET' -H 'Content-Type: application/json' -d '{"leadOrigin": "Grupo OLX", "originLeadId": "$uuid", "clientListingId": "$listing", "name": "Rita Exemplo", "ddd": "11", "phone": "987$creci", "message": "Ainda está disponível?"}' $NEOAPI_PORTAL_URL

$curl '${NEOAPI_URL}leads?source=portal&limit=1'

The examples of the documentation work in a shell with these variables:

export KEY=$NEOAPI_KEY LEAD=$lead CURL_CA_BUNDLE=$ca REQUESTS_CA_BUNDLE=$ca NODE_EXTRA_CA_CERTS=$ca

To receive webhooks, run make demo-receiver in another shell. make demo-story shows how a portal's lead gets an answer.

make demo-sync, in another shell, copies the data and prints what is changed with this key; its program is on the page Keeping in sync.

make demo-stop stops the demo and keeps its data.
END
}

is_running() {
    running "$demo/instance/run/httpd.pid" httpd.conf >/dev/null || whatsapp_pid >/dev/null ||
        running "$demo/instance/pg/postmaster.pid" postgres >/dev/null
}

[ $# -ge 2 ] || die "usage: demo.sh start|stop|remove BUILD [NAME=VALUE...]"
action=$1
build=$(absolute "$2")
demo=$build/demo
shift 2
case $action in
    start)
        up "$@"
        make_credentials "$@"
        load
        make_whatsapp
        start_whatsapp
        site=${NEOAPI_URL%public/v1/}
        NEOAPI_LISTINGS_URL=${site}listings/$NEOAPI_LISTINGS_TOKEN NEOAPI_PORTAL_URL=${site}leads/$NEOAPI_PORTAL
        write_client_env "$demo/env" NEOAPI_LISTINGS_URL NEOAPI_PORTAL_URL
        print_summary
        ;;
    stop)
        if is_running; then said='the demo is stopped; its data is kept'; else said="no demo runs in $demo"; fi
        stop_whatsapp
        deploy down
        say "$said"
        ;;
    remove)
        if [ -e "$demo" ]; then said='the demo and its data are removed'; else said="no demo in $demo"; fi
        stop_whatsapp
        deploy remove
        rm -rf "$demo"
        say "$said"
        ;;
    *)
        die "usage: demo.sh start|stop|remove BUILD [NAME=VALUE...]"
        ;;
esac
