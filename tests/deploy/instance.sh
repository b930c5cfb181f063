#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A private deployment in one directory: a PostgreSQL cluster on a Unix socket and an Apache on 127.0.0.1, for the demo, the
# tests and the benchmarks. Touches no system service and no other instance.
#
#   instance.sh up DIR [NAME=VALUE...]   creates what is missing, starts what is not running; can be repeated
#   instance.sh down DIR        stops both servers and keeps the data
#   instance.sh remove DIR      stops both servers and deletes everything
#   instance.sh start-db DIR    stop-db DIR, kill-db DIR (SIGKILL for every process of PostgreSQL)
#   instance.sh start-httpd DIR stop-httpd DIR, graceful DIR
#
# `up` takes settings as arguments, NAME=VALUE; the other commands use those of the last `up`. Of the environment only PATH, TMPDIR,
# SUDO_USER and GCOV_PREFIX (of coverage.py) are used.
#   PORT            Apache's port (default: the previous one, else a free one)
#   MODULE, CTL     mod_neoapi.so and neoapictl. Without MODULE Apache runs without the module; without CTL the database is empty
#   INSTANCE_CONF   a file of httpd directives to include inside the virtual host
#   SERVER_CONF     a file of httpd directives to include outside it
#   MPM             event (default), worker or prefork
#   PROCESSES, THREADS   Apache's processes (2) and the threads of each (25); prefork has as many processes as these have threads
#   DB_CONNECTIONS  of each process to the database (two more than its threads)
#   FSYNC           off: a new cluster does not wait for the disk and uses little memory. Its data survives crashes of processes, not of the machine
#   CLUSTER         the data directory of a stopped server, which has the schema: a new cluster is a copy of it
#   HTTPD_PRELOAD, HTTPD_WRAPPER   LD_PRELOAD for Apache; a command with arguments to run it under
#   DB_PRELOAD      LD_PRELOAD for PostgreSQL
#   ASAN_OPTIONS, UBSAN_OPTIONS, LSAN_OPTIONS   are passed to Apache and CTL; with HTTPD_PRELOAD reports are written to DIR/sanitizer
#   PGBIN, APACHE   PostgreSQL's directory of programs and Apache's program, if they are not Debian's
#
# DIR/env has the addresses and paths as shell assignments. As root PostgreSQL runs as postgres and Apache's children as www-data;
# if these cannot enter DIR, or its path is too long for a socket or has unusual characters, DIR becomes a symbolic link to
# a directory under /var/tmp.
# shellcheck disable=SC2154 # variables are shared with the sourced files
set -eu
umask 022
here=$(cd "$(dirname "$0")" && pwd)
for part in common postgresql apache; do
    # shellcheck source=/dev/null
    . "$here/$part.sh"
done

usage() {
    sed -n 's/^#   \(instance\.sh\)/usage: \1/p' "$here/instance.sh" >&2
    exit 2
}

make_directories() {
    make_place
    mkdir -p "$state/log" "$state/run" "$state/socket" "$state/tls" "$state/www"
    is_root && chown postgres: "$state/socket"
    mkdir -p "$state/sanitizer"
    chmod 1777 "$state/sanitizer"
}

set_up_schema() {
    if [ -z "$CTL" ] || [ "$is_copy" = yes ]; then return 0; fi
    "$CTL" --database "host=$state/socket port=5432 dbname=postgres user=postgres" setup >"$state/log/setup.log" 2>&1 ||
        { cat "$state/log/setup.log" >&2; die "neoapictl setup failed"; }
}

write_env() {
    {
        echo "NEOAPI_URL='https://localhost:$PORT/public/v1/'"
        echo "NEOAPI_CA='$state/tls/ca.pem'"
        echo "NEOAPI_DSN='$dsn'"
        echo "NEOAPI_ADMIN_DSN='$admin_dsn'"
        echo "NEOAPI_PID='$state/run/httpd.pid'"
        echo "NEOAPI_DB_PID='$state/pg/postmaster.pid'"
        echo "NEOAPI_KEY_FILE='$state/neoapi.key'"
        echo "NEOAPI_ERROR_LOG='$state/log/error.log'"
        echo "NEOAPI_ACCESS_LOG='$state/log/access.log'"
        echo "NEOAPI_CTL='${CTL:+$state/neoapictl}'"
        echo "NEOAPI_STATE='$state'"
        echo "NEOAPI_PORT='$PORT'"
        echo "NEOAPI_SANITIZER_DIR='$state/sanitizer'"
    } >"$state/env.new"
    mv "$state/env.new" "$state/env"
}

# If `up` fails, stops what it has started.
tidy_up() {
    [ "$started_db" = no ] || stop_db
}

up() {
    : "${MPM:=event}" "${PROCESSES:=2}" "${THREADS:=25}"
    MODULE=$(absolute "$MODULE")
    CTL=$(absolute "$CTL")
    INSTANCE_CONF=$(absolute "$INSTANCE_CONF")
    SERVER_CONF=$(absolute "$SERVER_CONF")
    CLUSTER=$(absolute "$CLUSTER")
    for file in "$MODULE" "$CTL" "$INSTANCE_CONF" "$SERVER_CONF"; do
        [ -z "$file" ] || [ -r "$file" ] || die "cannot read $file"
    done
    make_directories
    find_programs
    cd / # the servers' users may not be able to enter where we are
    choose_port
    make_certificate
    make_key
    started_db=no is_copy=no
    trap tidy_up EXIT
    trap 'exit 130' INT TERM HUP
    # Stored first, so that other commands can stop the servers if this one is killed.
    [ -f "$state/settings" ] || settings >"$state/settings"
    make_cluster
    start_db
    know_dsn
    write_ctl
    set_up_schema
    bring_up_httpd
    trap - EXIT
    write_env
}

know_dsn() {
    dsn="host=$state/socket port=5432 dbname=neoapi user=neoapi"
    admin_dsn="host=$state/socket port=5432 dbname=neoapi user=postgres"
}

down() {
    stop_httpd
    stop_db
}

remove() {
    down
    rm -rf "$state"
    rm -f "$dir" 2>/dev/null || true # if it is a link
}

# Ignores environment variables with the names of settings.
settings='PORT MODULE CTL INSTANCE_CONF SERVER_CONF MPM PROCESSES THREADS DB_CONNECTIONS FSYNC CLUSTER DB_PRELOAD HTTPD_PRELOAD HTTPD_WRAPPER'
settings="$settings ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS PGBIN APACHE"
for setting in $settings; do unset "$setting"; eval "$setting="; done

take_settings() {
    for setting; do
        name=${setting%%=*}
        case " $settings " in *" $name "*) ;; *) die "$name is not a setting" ;; esac
        case $setting in *=*) eval "$name=\${setting#*=}" ;; *) usage ;; esac
    done
}

[ $# -ge 2 ] || usage
command=$1
dir=$(absolute "$2")
shift 2
take_settings "$@"
export ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS
case $command in
    up | down | remove | start-db | stop-db | kill-db | start-httpd | stop-httpd | graceful) ;;
    *) usage ;;
esac
# The caller's libpq variables are for another database.
for name in $(env | sed -n 's/^\(PG[A-Z]*\)=.*/\1/p'); do unset "$name"; done

if [ "$command" != up ]; then
    if ! find_place; then
        case $command in
            down | remove) exit 0 ;;
            *) die "there is no instance in $dir" ;;
        esac
    fi
    cd / # the servers' users may not be able to enter where we are
fi
case $command in
    up) up ;;
    down) down ;;
    remove) remove ;;
    start-db) start_db ;;
    stop-db) stop_db ;;
    kill-db) kill_db ;;
    start-httpd) start_httpd ;;
    stop-httpd) stop_httpd ;;
    graceful) graceful ;;
esac
