# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154 # variables are shared with instance.sh
# Creates, starts, stops and kills the PostgreSQL cluster of an instance. Sourced by instance.sh; $state is the instance's directory.

find_programs() {
    if [ -z "$PGBIN" ]; then
        for PGBIN in /usr/lib/postgresql/*/bin; do :; done
        # the version that created the cluster, if it exists
        if [ -f "$state/pg/PG_VERSION" ]; then PGBIN=/usr/lib/postgresql/$(as_db cat "$state/pg/PG_VERSION")/bin; fi
    fi
    [ -x "$PGBIN/initdb" ] || die "PostgreSQL is not installed: make deps"
    [ -n "$APACHE" ] || APACHE=$(command -v apache2 || command -v httpd || echo /usr/sbin/apache2)
    [ -x "$APACHE" ] || die "Apache is not installed: make deps"
    modules=$(apxs -q LIBEXECDIR 2>/dev/null || echo /usr/lib/apache2/modules)
}

# Creates $state/pg unless it exists. Sets is_copy to yes if it already contains the schema.
make_cluster() {
    [ ! -f "$state/pg/PG_VERSION" ] || return 0
    rm -rf "$state/pg"
    (umask 027 && : >"$state/log/postgresql.log")
    is_root && chown postgres: "$state/log/postgresql.log"
    if [ -z "$CLUSTER" ]; then
        init_cluster
    else
        cp -a --reflink=auto "$CLUSTER" "$state/pg"
        is_copy=yes
    fi
}

init_cluster() {
    say "making a PostgreSQL cluster in $state/pg"
    mkdir -m 700 "$state/pg"
    is_root && chown postgres: "$state/pg"
    options=
    [ "$FSYNC" != off ] || options='--no-sync --wal-segsize=1' # small segments: copies of the cluster are made faster
    # shellcheck disable=SC2086 # words
    as_db "$PGBIN/initdb" -D "$state/pg" -U postgres -E UTF8 --locale=C.UTF-8 -A peer $options >"$state/log/initdb.log" 2>&1 ||
        { rm -rf "$state/pg"; tail "$state/log/initdb.log" >&2; die "initdb failed"; }
    {
        cat "$here/postgresql.conf"
        # Tests connect thousands of times: a new backend costs less if it maps less memory.
        [ "$FSYNC" != off ] || printf 'fsync = off\nfull_page_writes = off\nshared_buffers = 32MB\n'
    } | as_db tee -a "$state/pg/postgresql.conf" >/dev/null
    echo 'local all all peer map=neoapi' | as_db tee "$state/pg/pg_hba.conf" >/dev/null
    ident | as_db tee "$state/pg/pg_ident.conf" >/dev/null
}

# Maps users of this machine to roles: Apache's and ours to the runtime role, ours and postgres to the superuser.
ident() {
    for user in "$(id -un)" ${SUDO_USER:+"$SUDO_USER"} root postgres; do
        printf 'neoapi "%s" neoapi\nneoapi "%s" postgres\n' "$user" "$user"
    done | sort -u
    if is_root; then echo 'neoapi www-data neoapi'; fi
}

start_db() {
    if running "$state/pg/postmaster.pid" "$state/pg" >/dev/null; then return 0; fi
    # After a crash PostgreSQL does not start until the last process of the old server has ended.
    tries=1
    if as_db test -e "$state/pg/postmaster.pid"; then tries=40; fi
    until as_db ${DB_PRELOAD:+env LD_PRELOAD="$DB_PRELOAD"} "$PGBIN/pg_ctl" start -s -w -t 60 -D "$state/pg" -o "-c listen_addresses= -k $state/socket" -l "$state/log/postgresql.log" \
        >"$state/log/pg_ctl.log" 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; do
        tries=$((tries - 1))
        if [ "$tries" -le 0 ]; then
            tail "$state/log/postgresql.log" >&2
            die "PostgreSQL does not start; its log is $state/log/postgresql.log"
        fi
        sleep 0.25
    done
    started_db=yes
    say "PostgreSQL runs, socket in $state/socket"
}

stop_db() {
    running "$state/pg/postmaster.pid" "$state/pg" >/dev/null || return 0
    as_db "$PGBIN/pg_ctl" stop -s -w -t 60 -m fast -D "$state/pg" || die "PostgreSQL does not stop"
    say "PostgreSQL stopped"
}

# Kills the parent and its children, and waits for them. The parent is stopped (SIGSTOP) first, because a new child would wait
# forever for a lock of a killed one and keep the shared memory. Removes the pid files, because PostgreSQL regards a zombie that
# no init process reaps as a running server.
kill_db() {
    pid=$(running "$state/pg/postmaster.pid" "$state/pg") || die "PostgreSQL is not running"
    kill -STOP "$pid"
    while is_alive "$pid" && ! grep -q '^State:.T' "/proc/$pid/status"; do sleep 0.01; done
    kin=$(children_of "$pid")
    kill -KILL "$pid"
    # shellcheck disable=SC2086 # a list of numbers
    kill -KILL $kin 2>/dev/null || true
    # shellcheck disable=SC2086
    await_end 30 "$pid" $kin || die "PostgreSQL does not end"
    rm -f "$state/pg/postmaster.pid" "$state/socket/.s.PGSQL.5432.lock"
}
