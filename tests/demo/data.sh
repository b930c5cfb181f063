# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # variables are shared with the scripts
# Fills a deployment with the demo's data: tenants, users and credentials, then resources through the API. Sourced by demo.sh and
# ../cluster/cluster.sh, which define `deploy remove` and `up`; $data is this directory.

# Reads the variables of a deployment, a file of instance.sh or cluster.sh.
read_deployment() {
    deployment=$1
    # shellcheck source=/dev/null
    . "$deployment"
    made=$NEOAPI_STATE/demo # ids and secrets that exist in this database
    loaded=$NEOAPI_STATE/demo.data
}

# ctl MEMBER ARGUMENT…: runs neoapictl and prints one member of its output.
ctl() {
    member=$1
    shift
    answer=$("$NEOAPI_CTL" --json "$@") || die "neoapictl $* failed"
    printf '%s' "$answer" | sed -n 's/.*"'"$member"'": *"\([^"]*\)".*/\1/p' | grep .
}

# Creates tenants, organizations, users, credentials, a feed of listings and a portal's address, and prints them as assignments.
populate() {
    ctl name plan create integration --requests 1000000 --window 60 >/dev/null
    tenant=$(ctl id tenant create 'Grupo Horizonte (demo)' --plan integration)
    org=$(ctl id organization create 'Horizonte São Paulo' --tenant "$tenant" --lead-assignment turn)
    org_2=$(ctl id organization create 'Horizonte Rio de Janeiro' --tenant "$tenant")
    user=$(ctl id user create 'Administração Horizonte' --tenant "$tenant" --email admin@horizonte.example.com --role org_admin)
    ctl id user create 'Redação Horizonte' --tenant "$tenant" --email editor@horizonte.example.com --role org_editor >/dev/null
    ctl id user create 'Consulta Horizonte' --tenant "$tenant" --email viewer@horizonte.example.com --role org_viewer >/dev/null
    other=$(ctl id tenant create 'Araucária (demo)')
    other_org=$(ctl id organization create 'Araucária Curitiba' --tenant "$other")
    ctl id user create 'Administração Araucária' --tenant "$other" --email admin@araucaria.example.com --role org_admin >/dev/null

    assign NEOAPI_KEY "$(ctl secret key create 'demo: admin' --organization "$org" --role org_admin)"
    assign NEOAPI_EDITOR_KEY "$(ctl secret key create 'demo: editor' --organization "$org" --role org_editor)"
    assign NEOAPI_VIEWER_KEY "$(ctl secret key create 'demo: viewer' --organization "$org" --role org_viewer)"
    assign NEOAPI_OTHER_KEY "$(ctl secret key create 'demo: admin' --organization "$other_org" --role org_admin)"
    assign NEOAPI_TOKEN "$(ctl secret token create 'demo: both' --user "$user" --organization "$org" --organization "$org_2")"
    assign NEOAPI_TOKEN_ONE "$(ctl secret token create 'demo: one' --user "$user" --organization "$org")"
    assign NEOAPI_LISTINGS_TOKEN "$(ctl secret listings create ZAP --organization "$org" --contact 'Horizonte São Paulo' \
        --email contato@horizonte.example.com --phone '(11) 3450-4646')"
    portal_secret=$(openssl rand -hex 16)
    assign NEOAPI_PORTAL "$(printf 'secret=%s\n' "$portal_secret" | ctl id portal create grupo_olx --organization "$org" --secrets -)"
    assign NEOAPI_PORTAL_SECRET "$portal_secret"
    assign NEOAPI_ORG "$org"
    assign NEOAPI_ORG_2 "$org_2"
    assign NEOAPI_OTHER_ORG "$other_org"
}

assign() {
    [ -n "$2" ] || exit 1 # the command that failed has printed why
    printf '%s=%s\n' "$1" "$(quoted "$2")"
}

# An interrupted run leaves tenants whose secrets are lost: then everything is removed and created again.
make_credentials() {
    if [ ! -f "$made" ] && "$NEOAPI_CTL" --json tenant list | grep -q tnt_; then
        say "an earlier run did not finish: starting from an empty database"
        deploy remove
        up "$@"
    fi
    if [ ! -f "$made" ]; then
        say "creating tenants, organizations, users and credentials"
        (umask 077 && populate >"$made.new")
        mv "$made.new" "$made"
    fi
    # shellcheck source=/dev/null
    . "$made"
}

# Loads the data through the API. Resources that exist already are from an interrupted run or an older demo.
load() {
    [ ! -f "$loaded" ] || return 0
    say "creating brokers, parties, properties, proposals, contracts and documents through the API"
    if ! as_client /usr/bin/python3 -B "$data/load.py" >"$loaded.new"; then
        tail -n 5 "$NEOAPI_ERROR_LOG" >&2
        die "cannot load the data; the error and the end of the error log are above"
    fi
    say "created $(cat "$loaded.new")"
    mv "$loaded.new" "$loaded"
}

# Runs a command with the variables of the demo's first organization.
as_client() {
    (
        set -a
        # shellcheck source=/dev/null
        . "$deployment"
        # shellcheck source=/dev/null
        . "$made"
        "$@"
    )
}

# Sets $lead to the first one.
find_lead() {
    lead=$("$NEOAPI_CTL" --json lead list --organization "$NEOAPI_ORG" | grep -o 'led_[0-9a-z]*' | sort | head -n 1 | grep .) ||
        die "no lead exists"
}

# Writes the variables that clients need, and those that are named: write_client_env FILE [NAME...]
write_client_env() {
    client_env=$1
    shift
    (
        umask 077
        {
            assign NEOAPI_URL "$NEOAPI_URL"
            assign NEOAPI_CA "$NEOAPI_CA"
            cat "$made"
            assign NEOAPI_LEAD "$lead"
            for name in NEOAPI_DSN NEOAPI_PID NEOAPI_CTL "$@"; do
                eval "assign $name \"\$$name\""
            done
        } >"$client_env.new"
    )
    # with sudo, the file belongs to the caller
    if [ -n "${SUDO_UID:-}" ] && is_root; then chown "$SUDO_UID:${SUDO_GID:-}" "$client_env.new"; fi
    mv "$client_env.new" "$client_env"
}
