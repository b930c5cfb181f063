#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Several hosts on one machine, each with addresses of its own: three PostgreSQL servers under Patroni with etcd (127.0.0.11 to 127.0.0.13),
# two hosts with Apache, PgBouncer and the HAProxy that leads it to the primary (127.0.0.21 and 127.0.0.22), and HAProxy in front (127.0.0.31).
# Their configuration is conf/cluster, their data the demo's. Touches no system service and no other deployment.
#
#   cluster.sh up DIR BUILD      creates what is missing, starts what is not running; can be repeated
#   cluster.sh start DIR NODE    a node is etcd1 to etcd3, db1 to db3, haproxy1, haproxy2, pgbouncer1, pgbouncer2, host1, host2 or haproxy
#   cluster.sh kill DIR NODE     SIGKILL for every process of the node; the node "primary" is the server that leads
#   cluster.sh freeze DIR NODE   SIGSTOP for every process of the node; thaw DIR NODE ends it
#   cluster.sh status DIR        prints which nodes are ready
#   cluster.sh remove DIR        stops every node and deletes everything
#
# NEOAPI_CLUSTER_NAMESPACES: three network namespaces, /proc/PID/ns/net, for etcd1 with db1 and so on; test_cluster.py makes them.
# NEOAPI_CLUSTER_PORT is the port of HAProxy on 127.0.0.1 (9443). As root, Apache's children run as www-data, everything else as postgres.
# shellcheck disable=SC2034,SC2154 # variables are shared with the sourced files and, through eval, with the templates
set -eu
umask 022
PATH=$PATH:/usr/sbin:/sbin
here=$(cd "$(dirname "$0")" && pwd)
conf=$(cd "$here/../../conf/cluster" && pwd)
data=$(cd "$here/../demo" && pwd)
for part in deploy/common deploy/postgresql deploy/apache demo/data; do
    # shellcheck source=/dev/null
    . "$here/../$part.sh"
done

nodes='etcd1 etcd2 etcd3 db1 db2 db3 haproxy1 haproxy2 pgbouncer1 pgbouncer2 host1 host2 haproxy'
ports='PG_PORT PATRONI_PORT ETCD_PORT ETCD_PEER_PORT PRIMARY_PORT PGBOUNCER_PORT HTTPD_PORT REPLICA_PORT'
passwords='SUPERUSER_PASSWORD REPLICATION_PASSWORD ADMIN_PASSWORD PASSWORD'

# Sets what a node has of its own: address, port, template in conf/cluster, command, and the URL that answers when it is ready.
describe() {
    number=${1#"${1%?}"} url=
    case $1 in
        etcd[123]) address=127.0.0.1$number port=$ETCD_PORT url=http://$address:$port/health template=etcd.yml command='etcd --config-file' ;;
        db[123]) address=127.0.0.1$number port=$PG_PORT url=http://$address:$PATRONI_PORT/health template=patroni.yml command=patroni ;;
        haproxy[12]) address=127.0.0.2$number port=$PRIMARY_PORT template=haproxy-primary.cfg command='haproxy -db -f' ;;
        pgbouncer[12]) address=127.0.0.2$number port=$PGBOUNCER_PORT template=pgbouncer.ini command=pgbouncer ;;
        host[12]) address=127.0.0.2$number port=$HTTPD_PORT url=https://$address:$port/neoapi-health template=httpd.conf
            command="$APACHE -D FOREGROUND -f" ;;
        haproxy) address=127.0.0.31 port=$PORT url=https://localhost:$port/public/v1/docs/ template=haproxy.cfg command='haproxy -db -f' ;;
        *) die "NODE=$1 is not one of: $nodes" ;;
    esac
}

# One series of free ports; each node has its own address.
choose_ports() {
    port=$(free_port)
    for name in $ports; do
        if is_taken "$port"; then choose_ports && return; fi
        eval "$name=$port"
        port=$((port + 1))
    done
}

# The settings, which are also the placeholders of the templates, are chosen once.
choose_settings() {
    wanted=${NEOAPI_CLUSTER_PORT:-${PORT:-9443}}
    if ! node_pid haproxy >/dev/null && is_taken "$wanted"; then
        die "port $wanted on 127.0.0.1 is taken by another program; choose another: make cluster CLUSTER_PORT=N"
    fi
    [ "$wanted" = "${PORT:-$wanted}" ] || die "the cluster has port $PORT; remove it first (make cluster-remove)"
    PORT=$wanted STATE=$state MODULES=$modules
    if [ ! -f "$state/settings" ]; then
        choose_ports
        for name in $passwords; do eval "$name=$(openssl rand -hex 16)"; done
    fi
    (
        umask 077
        for name in PORT $ports $passwords PGBIN APACHE MODULES MODULE CTL STATE; do eval "assign $name \"\$$name\""; done >"$state/settings.new"
        mv "$state/settings.new" "$state/settings"
        printf '*:*:*:%s:%s\n' neoapi "$PASSWORD" neoapi_admin "$ADMIN_PASSWORD" postgres "$SUPERUSER_PASSWORD" >"$state/pgpass"
        echo "$PASSWORD" >"$state/password"
        echo "$ADMIN_PASSWORD" >"$state/admin_password"
    )
    if [ -n "${SUDO_UID:-}" ] && is_root; then chown "$SUDO_UID" "$state/pgpass"; fi
}

# Prints a node's configuration, on Debian 12 with what the templates' comments say.
configuration() {
    changes=
    case $patroni in *\ 3.0.[0-2]) changes='s/^etcd3:/etcd:/; s/^#enable-v2/enable-v2/;' ;; esac
    case $pgbouncer in *\ 1.1?.* | *\ 1.20.*) changes="$changes s/^pool_mode = .*/pool_mode = session/; /^max_prepared/d" ;; esac
    {
        sed "s/^\(.*\)='\(.*\)'$/s|@\1@|\2|g/" "$state/settings"
        printf 's|@%s@|%s|g\n' NODE "$1" ADDRESS "$address" DIR "$state/$1"
    } >"$state/$1/placeholders"
    sed -f "$state/$1/placeholders" -e "$changes" "$conf/$template"
}

# Writes a node's files. Stops a node whose configuration or program has changed.
configure() {
    describe "$1"
    (
        umask 077
        mkdir -p "$state/$1"
        configuration "$1" >"$state/$1/new"
        case $1 in
            pgbouncer?) printf '"neoapi" "%s"\n' "$PASSWORD" >"$state/$1/userlist.txt" ;;
            haproxy) cat "$state/tls/server.pem" "$state/tls/server.key" >"$state/$1/server.pem" ;;
            host?) grep ':neoapi:' "$state/pgpass" >"$state/$1/pgpass" ;;
        esac
        if is_root; then
            case $1 in
                host?) chown www-data: "$state/$1/pgpass" && chmod 711 "$state/$1" ;;
                *) chown postgres: "$state/$1" "$state/$1"/* ;;
            esac
        fi
    )
    if ! cmp -s "$state/$1/new" "$state/$1/$template" ||
        { [ "$template" = httpd.conf ] && [ -n "$(find "$MODULE" -newer "$state/run/$1.pid" 2>/dev/null)" ]; }; then
        stop "$1"
    fi
    mv "$state/$1/new" "$state/$1/$template"
}

node_pid() {
    running "$state/run/$1.pid" "$state/$1/"
}

# The processes of a node, also if its first one has been killed. PostgreSQL outlives Patroni.
node_pids() {
    [ ! -s "$state/run/$1.pid" ] || members_of "$(cat "$state/run/$1.pid")" "$state/$1/"
    if postmaster=$(running "$state/$1/data/postmaster.pid" "$state/$1/data"); then
        echo "$postmaster"
        children_of "$postmaster"
    fi
}

launch() {
    describe "$1"
    if node_pid "$1" >/dev/null; then return 0; fi
    as_user='' inside=''
    case $1 in host?) ;; *) if is_root; then as_user='setpriv --reuid=postgres --regid=postgres --init-groups'; fi ;; esac
    case $NEOAPI_CLUSTER_NAMESPACES:$1 in
        ?*:db? | ?*:etcd?) inside="nsenter --net=$(echo "$NEOAPI_CLUSTER_NAMESPACES" | cut -d ' ' -f "$number")" ;;
    esac
    (
        umask 027
        # shellcheck disable=SC2086 # commands with arguments
        setsid $inside $as_user env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 $command "$state/$1/$template" \
            </dev/null >>"$state/log/$1.log" 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
        echo $! >"$state/run/$1.pid"
    )
}

# Prints "ready", "stopped" or the problem.
condition() {
    describe "$1"
    if ! node_pid "$1" >/dev/null; then
        echo stopped
    elif [ -z "$url" ] || problem=$(curl -sS --noproxy '*' --max-time 5 --cacert "$state/tls/ca.pem" --fail-with-body "$url" 2>&1); then
        echo ready
    else
        printf 'not ready: %s\n' "$(printf '%s' "$problem" | tr '\n' ' ' | cut -c 1-150)"
    fi
}

await() {
    for node; do
        tries=120
        until [ "$(condition "$node")" = ready ]; do
            tries=$((tries - 1))
            # node_pid knows a process only after it has executed its program.
            if [ "$tries" -eq 0 ] || ! is_alive "$(cat "$state/run/$node.pid")"; then
                tail -n 10 "$state/log/$node.log" >&2
                die "$node is $(condition "$node"); the end of its log is above, the rest in $state/log/$node.log"
            fi
            sleep 0.5
        done
    done
}

# Prints the server that leads.
primary() {
    for node in db1 db2 db3; do
        describe "$node"
        if curl -fs --noproxy '*' --max-time 5 -o /dev/null "http://$address:$PATRONI_PORT/primary"; then echo "$node" && return; fi
    done
    return 1
}

# Stops all processes of a node, and those that they have started meanwhile. Sets $pids.
freeze() {
    pids=$(node_pids "$1")
    [ -n "$pids" ] || die "$1 is not running"
    # shellcheck disable=SC2086 # a list of numbers
    kill -STOP $pids
    pids=$(node_pids "$1")
    # shellcheck disable=SC2086
    kill -STOP $pids
}

kill_node() {
    freeze "$1" # so that no process of the node starts another one or notices the end of another one
    # shellcheck disable=SC2086
    kill -KILL $pids
    # shellcheck disable=SC2086
    await_end 30 $pids || die "$1 does not end"
    rm -f "$state/$1/data/postmaster.pid" "$state/$1/httpd.pid" # see kill_db
}

# Stops nodes together, and kills what has not ended after 30 seconds.
stop() {
    for node; do
        if pid=$(node_pid "$node"); then kill -TERM "$pid"; fi
    done
    for node; do
        # shellcheck disable=SC2046 # a list of numbers
        await_end 30 $(node_pids "$node") || kill_node "$node"
    done
}

# Waits until the two standbys follow, one of them synchronously.
await_standbys() {
    describe "$(primary)"
    tries=120
    until curl -s --noproxy '*' "http://$address:$PATRONI_PORT/cluster" | grep -q '"sync_standby".*"state": "\(running\|streaming\)"'; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || die "no standby has become synchronous; see the logs in $state/log and make cluster-status"
        sleep 0.5
    done
}

# On the primary: a standby that libpq tried first might not have the new database yet.
set_up_schema() {
    describe "$(primary)"
    to_primary="host=$address port=$PG_PORT dbname=postgres user=postgres"
    export PGPASSFILE="$state/pgpass"
    {
        "$CTL" --database "$to_primary" setup --runtime-password-file "$state/password" \
            --admin-role neoapi_admin --admin-password-file "$state/admin_password" &&
            "$PGBIN/psql" -qX "$to_primary" -c "alter role neoapi set statement_timeout = '10s'"
    } >"$state/log/setup.log" 2>&1 || { cat "$state/log/setup.log" >&2; die "neoapictl setup failed"; }
    unset PGPASSFILE
}

up() {
    begun=$(date +%s)
    make_place
    find_place
    MODULE=$build/mod_neoapi.so CTL=$build/neoapictl
    for program in "$MODULE" "$CTL"; do [ -r "$program" ] || die "$program is missing: make"; done
    for program in patroni etcd haproxy pgbouncer; do command -v $program >/dev/null || die "$program is not installed: sh tests/deploy/packages.sh run cluster"; done
    find_programs
    cd / # the servers' users may not be able to enter where we are
    exec 8>"$state/lock"
    flock -n 8 || die "another make cluster is at work"
    trap 'say "interrupted; make cluster continues, make cluster-remove removes the cluster"; exit 130' INT TERM HUP
    mkdir -p "$state/log" "$state/run" "$state/tls"
    patroni=$(patroni --version) pgbouncer=$(pgbouncer --version)
    choose_settings
    make_certificate IP:127.0.0.21,IP:127.0.0.22
    make_key
    for each in $nodes; do configure "$each"; done
    say "starting etcd, then PostgreSQL under Patroni"
    for each in etcd1 etcd2 etcd3; do launch "$each"; done
    await etcd1 etcd2 etcd3
    for each in db1 db2 db3; do launch "$each"; done
    await db1 db2 db3
    await_standbys
    servers="host=127.0.0.11,127.0.0.12,127.0.0.13 port=$PG_PORT target_session_attrs=read-write connect_timeout=3"
    admin_dsn="$servers dbname=neoapi user=neoapi_admin passfile=$state/pgpass"
    set_up_schema
    write_ctl
    say "starting HAProxy, PgBouncer and Apache"
    for each in haproxy1 haproxy2 pgbouncer1 pgbouncer2 host1 host2 haproxy; do launch "$each"; done
    await haproxy1 haproxy2 pgbouncer1 pgbouncer2 host1 host2 haproxy
    {
        assign NEOAPI_URL "https://localhost:$PORT/public/v1/"
        assign NEOAPI_HOST_1_URL "https://127.0.0.21:$HTTPD_PORT/public/v1/"
        assign NEOAPI_HOST_2_URL "https://127.0.0.22:$HTTPD_PORT/public/v1/"
        assign NEOAPI_CA "$state/tls/ca.pem"
        assign NEOAPI_DSN "$servers dbname=neoapi user=neoapi passfile=$state/pgpass"
        assign NEOAPI_PID "$state/run/host1.pid"
        assign NEOAPI_ERROR_LOG "$state/log/host1.log"
        assign NEOAPI_CTL "$state/neoapictl"
        assign NEOAPI_STATE "$state"
    } >"$state/deployment"
    read_deployment "$state/deployment"
}

print_summary() {
    ca=$(quoted "$NEOAPI_CA")
    cat <<END

The cluster runs, after $(($(date +%s) - begun)) seconds. $(primary) is the primary.

  Base URL      $NEOAPI_URL (HAProxy)
  API key       $NEOAPI_KEY
  Status pages  ${NEOAPI_HOST_1_URL%public/v1/}neoapi-status
                ${NEOAPI_HOST_2_URL%public/v1/}neoapi-status
  Variables     . $(quoted "$dir/env")
  Logs          $state/log

curl --cacert $ca -H 'X-API-Key: $NEOAPI_KEY' ${NEOAPI_URL}me

make cluster-status shows the nodes. make cluster-kill NODE=primary kills the primary; make cluster-start NODE=... starts a node again.
doc/cluster.md explains what happens. make cluster-remove removes the cluster.
END
}

# The function that make_credentials calls.
deploy() {
    "$1"
}

remove() {
    # shellcheck disable=SC2046,SC2086 # a list of words
    stop $(printf '%s\n' $nodes | grep -v etcd)
    stop etcd1 etcd2 etcd3
    rm -rf "$state"
    rm -f "$dir" 2>/dev/null || true # if it is a link
}

print_status() {
    for node in $nodes; do
        state_of_node=$(condition "$node")
        describe "$node"
        printf '%-11s %-17s %s\n' "$node" "$address:$port" "$state_of_node"
    done
    timeout 10 patronictl -c "$state/db1/patroni.yml" list 2>/dev/null || say "etcd does not answer: which server leads is not known"
}

usage() {
    sed -n 's/^#   \(cluster\.sh\)/usage: \1/p' "$here/cluster.sh" >&2
    exit 2
}

[ $# -ge 2 ] || usage
action=$1
dir=$(absolute "$2")
: "${NEOAPI_CLUSTER_NAMESPACES:=}"
argument=${3:-}
# Settings come from the cluster, and the caller's libpq variables are for another database.
for name in PORT MODULE CTL APACHE PGBIN $ports $passwords $(env | sed -n 's/^\(PG[A-Z]*\)=.*/\1/p'); do unset "$name"; done
PGBIN='' APACHE=''
if [ "$action" != up ] && ! find_place; then
    if [ "$action" = remove ]; then exit 0; fi
    die "there is no cluster in $dir: make cluster"
fi
case $action in
    up)
        build=$(absolute "$argument")
        up
        make_credentials
        load
        find_lead
        write_client_env "$state/env" NEOAPI_HOST_1_URL NEOAPI_HOST_2_URL
        print_summary
        ;;
    start)
        describe "$argument"
        if node_pid "$argument" >/dev/null; then say "$argument is already running"; fi
        launch "$argument"
        await "$argument"
        say "$argument is ready"
        ;;
    kill)
        node=$argument
        [ "$node" != primary ] || node=$(primary) || die "no server leads"
        describe "$node"
        kill_node "$node"
        say "$node is killed"
        ;;
    freeze) freeze "$argument" ;;
    thaw) node_pids "$argument" | xargs kill -CONT ;;
    status) print_status ;;
    remove)
        cd /
        remove
        say "the cluster and its data are removed"
        ;;
    *) usage ;;
esac
