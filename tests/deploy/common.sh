# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # variables are shared with the scripts
# Functions of the scripts that run private servers: messages, directories, processes, ports. Sourced.

say() {
    printf '%s: %s\n' "$(basename "$0" .sh)" "$*" >&2
}

die() {
    say "$@"
    exit 1
}

is_root() {
    [ "$(id -u)" -eq 0 ]
}

# Runs a command as the user that PostgreSQL runs as.
as_db() {
    if is_root; then runuser -u postgres -- "$@"; else "$@"; fi
}

# Quotes a word for the shell.
quoted() {
    printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"
}

absolute() {
    case $1 in
        '' | /*) printf '%s' "$1" ;;
        *) printf '%s/%s' "$PWD" "$1" ;;
    esac
}

# Servers can work in a directory if its path fits into a socket's address (107 bytes) and is free of characters that
# would have to be quoted, and if their users can enter it.
fits() {
    [ "${#1}" -le 80 ] || return 1
    case $1 in *[!A-Za-z0-9/._+-]*) return 1 ;; esac
    is_root || return 0
    runuser -u postgres -- test -x "$1" && runuser -u www-data -- test -x "$1"
}

# Creates DIR unless it exists, and sets $state to its real path. The file .instance marks directories that may be deleted.
make_place() {
    if [ -L "$dir" ] && [ ! -f "$dir/.instance" ]; then rm -f "$dir"; fi # a link whose target was deleted
    if [ ! -e "$dir" ]; then
        mkdir -p "$dir"
        chmod 755 "$dir"
    fi
    state=$(cd "$dir" && pwd -P)
    [ -O "$state" ] || die "$dir belongs to another user"
    [ -f "$state/.instance" ] || rmdir "$dir" 2>/dev/null || die "$dir exists and is something else"
    mkdir -p "$dir"
    if ! fits "$state"; then
        [ ! -f "$state/.instance" ] || die "$dir was moved to where PostgreSQL and Apache cannot work"
        rmdir "$dir"
        state=$(mktemp -d /var/tmp/neoapi.XXXXXX)
        chmod 755 "$state"
        ln -s "$state" "$dir"
        say "$dir is a link to $state, which the servers can reach"
    fi
    : >>"$state/.instance"
}

# Sets $state to the real path of DIR and reads its settings.
find_place() {
    [ -f "$dir/.instance" ] || return 1
    state=$(cd "$dir" && pwd -P)
    [ -O "$state" ] || die "$dir belongs to another user"
    # shellcheck source=/dev/null
    [ ! -f "$state/settings" ] || . "$state/settings"
}

# Writes $state/neoapictl, which runs neoapictl with this deployment's database.
write_ctl() {
    [ -n "$CTL" ] || return 0
    printf '#!/bin/sh\nNEOAPI_DATABASE=%s exec %s "$@"\n' "$(quoted "$admin_dsn")" "$(quoted "$CTL")" >"$state/neoapictl"
    chmod 755 "$state/neoapictl"
}

# Prints the pid in a pid file if the command line of that process contains the second argument.
running() {
    [ -r "$1" ] || return 1
    pid=$(head -n 1 "$1")
    [ -n "$pid" ] && tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF -- "$2" && echo "$pid"
}

# A zombie has ended; in a container there may be no init process to reap it.
is_alive() {
    case $(sed -n 's/^.*) \(.\) .*/\1/p' "/proc/$1/stat" 2>/dev/null) in '' | Z | X) return 1 ;; esac
}

# Waits until none of the processes is left: await_end SECONDS PID…
await_end() {
    tries=$(($1 * 20))
    shift
    for one; do
        while is_alive "$one"; do
            tries=$((tries - 1))
            [ "$tries" -gt 0 ] || return 1
            sleep 0.05
        done
    done
}

# The children of a process; of a session those processes whose command line contains the second argument.
children_of() {
    cat /proc/[0-9]*/stat 2>/dev/null | sed -n "s/^\([0-9]*\) (.*) [A-Z] $1 .*/\1/p"
}

members_of() {
    cat /proc/[0-9]*/stat 2>/dev/null | sed -n "s/^\([0-9]*\) (.*) [A-Z] [0-9]* [0-9]* $1 .*/\1/p" | while read -r member; do
        if tr '\0' ' ' 2>/dev/null <"/proc/$member/cmdline" | grep -qF -- "$2"; then echo "$member"; fi
    done
}

# Prints the ports in use on an address of 127.0.0.0/8, in hexadecimal.
taken_ports() {
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk '
        $4 == "0A" { split($2, at, ":"); if (at[1] ~ /^(......7F|0+|0000000000000000FFFF0000......7F)$/) print at[2] }'
}

is_taken() {
    taken_ports | grep -qx "$(printf '%04X' "$1")"
}

free_port() {
    while :; do
        candidate=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
        is_taken "$candidate" || break
    done
    echo "$candidate"
}
