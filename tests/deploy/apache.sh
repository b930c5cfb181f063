# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # variables are shared with instance.sh
# Configures, starts and stops the Apache of an instance. Sourced by instance.sh; $state is the instance's directory.

# Creates a certificate for localhost, and for the argument (IP:127.0.0.21,…), and its authority. The authority's key is deleted, so
# that clients that trust it trust only this certificate.
make_certificate() {
    tls=$state/tls
    if openssl x509 -noout -checkend 86400 -in "$tls/server.pem" >/dev/null 2>&1; then return 0; fi
    (
        umask 077
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 800 -subj '/CN=neoapi private authority' \
            -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign \
            -keyout "$tls/ca.key" -out "$tls/ca.pem"
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \
            -keyout "$tls/server.key" -out "$tls/server.csr"
        printf '%s\n' "subjectAltName=DNS:localhost,IP:127.0.0.1${1:+,$1}" basicConstraints=CA:FALSE keyUsage=digitalSignature \
            extendedKeyUsage=serverAuth authorityKeyIdentifier=keyid >"$tls/server.ext"
        openssl x509 -req -days 800 -in "$tls/server.csr" -CA "$tls/ca.pem" -CAkey "$tls/ca.key" -CAcreateserial \
            -extfile "$tls/server.ext" -out "$tls/server.pem"
    ) >"$state/log/openssl.log" 2>&1 || { tail "$state/log/openssl.log" >&2; die "no certificate could be made"; }
    rm -f "$tls/ca.key" "$tls/ca.srl" "$tls/server.csr" "$tls/server.ext"
    chmod 644 "$tls/ca.pem" "$tls/server.pem"
}

make_key() {
    [ -s "$state/neoapi.key" ] || (umask 077 && openssl rand -base64 32 >"$state/neoapi.key")
}

define() {
    [ -z "$2" ] || printf 'Define %s "%s"\n' "$1" "$2"
}

httpd_conf() {
    define INSTANCE "$state"
    define MODULES "$modules"
    is_root && define WEB_USER www-data
    define MODULE "$MODULE"
    define HOST_CONF "$INSTANCE_CONF"
    define SERVER_CONF "$SERVER_CONF"
    define PORT "$PORT"
    define MPM "$MPM"
    define PROCESSES "$PROCESSES"
    define THREADS "$THREADS"
    define WORKERS $((PROCESSES * THREADS))
    define SLOTS $((PROCESSES * 4))
    define DB_CONNECTIONS "${DB_CONNECTIONS:-$((THREADS + 2))}"
    printf 'Include "%s/httpd.conf"\n' "$here"
}

# The settings that Apache is started with. They are stored for later commands.
settings() {
    for name in PORT MPM PROCESSES PGBIN APACHE DB_PRELOAD HTTPD_PRELOAD HTTPD_WRAPPER ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS; do
        eval "value=\$$name"
        # shellcheck disable=SC2154 # set by eval
        printf '%s=%s\n' "$name" "$(quoted "$value")"
    done
}

# Replaces the (sub)shell by Apache in a new session, without the caller's environment (such as PGHOST). Sanitizers write to a
# directory that Apache's children can write to. As with Debian's logrotate, other users cannot read the logs.
apache() {
    umask 027
    if [ -n "$HTTPD_PRELOAD" ]; then
        ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}log_path=$state/sanitizer/asan
        UBSAN_OPTIONS=${UBSAN_OPTIONS:+$UBSAN_OPTIONS:}log_path=$state/sanitizer/ubsan
    fi
    # shellcheck disable=SC2086 # a wrapper has arguments
    exec setsid env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
        ${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"} ${UBSAN_OPTIONS:+UBSAN_OPTIONS="$UBSAN_OPTIONS"} \
        ${LSAN_OPTIONS:+LSAN_OPTIONS="$LSAN_OPTIONS"} ${HTTPD_PRELOAD:+LD_PRELOAD="$HTTPD_PRELOAD"} \
        ${GCOV_PREFIX:+GCOV_PREFIX="$GCOV_PREFIX"} $HTTPD_WRAPPER "$APACHE" -f "$state/httpd.conf" "$@"
}

httpd_pid() {
    running "$state/run/httpd.pid" "$state/httpd.conf"
}

answers() {
    curl -s -o /dev/null --noproxy '*' --max-time 5 --cacert "$state/tls/ca.pem" "https://localhost:$PORT/"
}

# Returns 1 if Apache does not start, with its output in $failure.
try_httpd() {
    log=$state/log/error.log
    (umask 027 && : >>"$log")
    before=$(wc -c <"$log")
    rm -f "$state/run/httpd.pid"
    (apache -D FOREGROUND) </dev/null >>"$log" 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
    starter=$!
    tries=1200
    until httpd_pid >/dev/null && answers; do
        tries=$((tries - 1))
        if [ "$tries" -eq 0 ] || ! is_alive "$starter"; then
            failure=$(tail -c "+$((before + 1))" "$log" | tail -n 20)
            kill "$starter" 2>/dev/null || true
            return 1
        fi
        sleep 0.05
    done
    await_surplus
}

# If no child is ready after a second, httpd starts one more than configured and soon ends one, with its connections and
# deliveries. Tests would see that as a failure.
await_surplus() {
    tries=200
    while [ "$MPM" != prefork ] && [ "$(children_of "$(httpd_pid)" | wc -l)" -gt "${PROCESSES:-1000}" ] && [ $tries -gt 0 ]; do
        tries=$((tries - 1))
        sleep 0.05
    done
}

no_httpd() {
    printf '%s\n' "$failure" >&2
    die "Apache does not start; its log is $state/log/error.log"
}

start_httpd() {
    if httpd_pid >/dev/null; then return 0; fi
    try_httpd || no_httpd
    say "Apache runs, https://localhost:$PORT/"
}

# Stops Apache's parent, and its remaining children even if the parent was killed before.
stop_httpd() {
    [ -s "$state/run/httpd.pid" ] || return 0
    pid=$(head -n 1 "$state/run/httpd.pid")
    kin=$(members_of "$pid" "$state/httpd.conf")
    [ -n "$kin" ] || return 0
    # shellcheck disable=SC2086 # a list of numbers
    if ! { httpd_pid >/dev/null && kill -TERM "$pid" && await_end 15 $kin; }; then
        say "Apache does not end by itself: killed"
        # shellcheck disable=SC2086
        kill -KILL $kin 2>/dev/null || true
        # shellcheck disable=SC2086
        await_end 15 $kin || die "Apache does not end"
    fi
    rm -f "$state/run/httpd.pid"
    say "Apache stopped"
}

# Prints how often Apache has read its configuration. Each MPM logs another message.
generations() {
    grep -cE 'AH(00489|00292|00163): ' "$state/log/error.log" || true
}

check_conf() {
    verdict=$(apache -t 2>&1) && return 0
    printf '%s\n' "$verdict" >&2
    die "the configuration has a mistake; Apache goes on with the old one"
}

# Reloads and returns when the new configuration is active. Old processes may still finish requests.
graceful() {
    pid=$(httpd_pid) || die "Apache is not running"
    check_conf
    before=$(generations)
    kill -USR1 "$pid"
    tries=1200
    until [ "$(generations)" -gt "$before" ]; do
        tries=$((tries - 1))
        if [ "$tries" -eq 0 ] || ! is_alive "$pid"; then
            tail "$state/log/error.log" >&2
            die "Apache did not restart"
        fi
        sleep 0.05
    done
}

# Writes the settings of Apache. Returns 0 if a running Apache must be restarted for them.
configure_httpd() {
    httpd_conf >"$state/httpd.conf.new"
    settings >"$state/settings.new"
    changed=no
    for file in httpd.conf settings; do
        cmp -s "$state/$file.new" "$state/$file" || changed=yes
        mv "$state/$file.new" "$state/$file"
    done
    for file in "$here/httpd.conf" "$MODULE" "$INSTANCE_CONF" "$SERVER_CONF"; do
        if [ -n "$file" ] && [ -n "$(find "$file" -newer "$state/run/httpd.pid" 2>/dev/null)" ]; then changed=yes; fi
    done
    [ $changed = yes ]
}

choose_port() {
    given=$PORT
    last=$(sed -n "s/^PORT='\([0-9]*\)'$/\1/p" "$state/settings" 2>/dev/null || true)
    : "${PORT:=${last:-$(free_port)}}"
    if [ "$PORT" = "$last" ] && httpd_pid >/dev/null; then return 0; fi
    if [ -n "$given" ] && is_taken "$PORT"; then
        die "port $PORT on 127.0.0.1 is taken by another program; choose another"
    fi
}

bring_up_httpd() {
    if configure_httpd && httpd_pid >/dev/null; then
        check_conf
        stop_httpd
    fi
    if httpd_pid >/dev/null; then
        say "Apache is already running, https://localhost:$PORT/"
        return 0
    fi
    until try_httpd; do
        # Another program may have taken the free port meanwhile.
        if [ -n "$given" ] || ! printf '%s' "$failure" | grep -q AH00072; then no_httpd; fi
        PORT=$(free_port)
        configure_httpd || true
    done
    say "Apache runs, https://localhost:$PORT/"
}
