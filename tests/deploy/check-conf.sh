#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks the configurations in conf/: check-conf.sh MODULE
# httpd accepts each: neoapi.conf also with its commented defaults enabled, the others also with the proxies of their comments.
# neoapi.conf mentions every directive of the module. libpq accepts the service files.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=/dev/null
. "$here/common.sh"
[ $# -eq 1 ] || die "usage: check-conf.sh MODULE"
module=$(absolute "$1")
conf=$here/../../conf
modules=$(apxs -q LIBEXECDIR)
apache=$(command -v apache2 || echo /usr/sbin/apache2)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(
    umask 077
    openssl rand -base64 32 >"$work/key"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=api.example.com \
        -keyout "$work/tls.key" -out "$work/tls.pem" 2>/dev/null
)

# Replaces paths and addresses by ones that exist here.
here_instead() {
    sed -e "s|/etc/neoapi/key|$work/key|" -e "s|/etc/ssl/certs/[^ ]*|$work/tls.pem|" -e "s|/etc/ssl/private/.*|$work/tls.key|" \
        -e "s|\${APACHE_LOG_DIR}|$work|" "$1"
}

# Prints the proxy configuration in a comment: the indented lines below its heading.
proxy_of() {
    awk '/^# The .*, if it is httpd/ {on = 1} on && /^#   / {sub(/^#   /, ""); print; seen = 1} seen && !/^#   / && $0 == "#" {exit}' "$1"
}

# accepts NAME: httpd accepts $work/NAME.
accepts() {
    {
        printf 'ServerRoot "%s"\nDefaultRuntimeDir "%s"\nPidFile "%s/pid"\nErrorLog "%s/error.log"\n' "$work" "$work" "$work" "$work"
        for name in mpm_event alias authz_core authz_host ssl socache_shmcb http2 dbd reqtimeout filter deflate headers remoteip status \
            slotmem_shm proxy proxy_http proxy_balancer proxy_hcheck lbmethod_bybusyness; do
            printf 'LoadModule %s_module "%s/mod_%s.so"\n' "$name" "$modules" "$name"
        done
        printf 'ServerName localhost\nListen 127.0.0.1:443\nLoadModule neoapi_module "%s"\nInclude "%s"\n' "$module" "$work/$1"
    } >"$work/httpd.conf"
    "$apache" -t -f "$work/httpd.conf" 2>"$work/verdict" || { cat "$work/verdict" >&2; die "httpd does not accept conf/$1"; }
    # Warnings are failures, too.
    if grep -v 'Syntax OK' "$work/verdict" >&2; then die "httpd warns of conf/$1"; fi
}

# bears NAME: httpd accepts $work/NAME even if the package and its dependencies have been removed.
bears() {
    {
        printf 'ServerRoot "%s"\nDefaultRuntimeDir "%s"\nErrorLog "%s/error.log"\nServerName localhost\n' "$work" "$work" "$work"
        printf 'Listen 127.0.0.1:443\nLoadModule mpm_event_module "%s/mod_mpm_event.so"\nInclude "%s"\n' "$modules" "$work/$1"
    } >"$work/bare.conf"
    "$apache" -t -f "$work/bare.conf" 2>"$work/verdict" ||
        { cat "$work/verdict" >&2; die "httpd without the module does not start with conf/$1"; }
}

for file in "$conf"/*.conf; do
    name=$(basename "$file")
    here_instead "$file" >"$work/$name"
    case $name in
        pg_service*)
            # libpq reports the invalid port only after it has accepted all other settings.
            for service in neoapi neoapi_admin; do
                PGSERVICEFILE=$file "$(dirname "$module")/neoapictl" --database "service=$service port=0" doctor >"$work/verdict" 2>&1 || true
                grep -q 'invalid port number: "0"' "$work/verdict" || { head -n 1 "$work/verdict" >&2; die "libpq does not take conf/$name"; }
            done
            continue
            ;;
        neoapi.conf) sed -i 's|^\( *\)#\(NeoAPI\|Alias\|</*Location\|    SetHandler\|    Require\|    ForceType\)|\1\2|' "$work/$name" ;;
    esac
    bears "$name"
    proxy_of "$file" >"$work/proxy"
    if [ -s "$work/proxy" ]; then
        { echo '<VirtualHost *:443>'; cat "$work/proxy"; echo '</VirtualHost>'; } >>"$work/$name"
    elif grep -q 'if it is httpd' "$file"; then
        die "the proxy of conf/$name is not found"
    fi
    accepts "$name"
done

sh "$here/directives.sh" "$module" >"$work/directives"
[ -s "$work/directives" ] || die "$module names no directive"
while read -r directive; do
    grep -qE "^ *#?$directive " "$conf/neoapi.conf" || die "conf/neoapi.conf does not mention $directive"
done <"$work/directives"

# The time limit for request bodies is the same in the shipped virtual hosts and in the tests' servers.
for file in "$conf"/*.conf "$here/httpd.conf"; do
    [ "$file" != "$conf/server-neoapi.conf" ] || continue
    if grep '^ *RequestReadTimeout ' "$file" | grep -vE ' body=[0-9]+-[0-9]+,MinRate='; then die "$file waits for bodies without a limit"; fi
done

# Queries can contain personal data, so they must not be logged.
if grep -HE '^ *(LogFormat|CustomLog) .*%[<>]?[rq]' "$conf"/*.conf "$here/httpd.conf"; then die "the access log would have queries"; fi
for file in "$conf"/*.conf; do
    [ "$(grep -c '^ *ErrorLog ' "$file")" -eq "$(grep -c '^ *LogLevel core:crit' "$file")" ] || die "$file: the error log would have queries"
done

# Every documented command that creates a key file must not overwrite an existing one.
for file in "$conf/neoapi.conf" "$conf/../README.md" "$conf/../include/core/messages.h"; do
    grep -oE '\([^()]*openssl rand [^()]*/etc/neoapi/key\)' "$file" | sed "s|/etc/neoapi/key|$work/made|" >"$work/commands"
    [ -s "$work/commands" ] || die "$file has no command for a key"
    while read -r command; do
        rm -f "$work/made"
        sh -c "$command"
        cp "$work/made" "$work/kept"
        if sh -c "$command" 2>/dev/null || ! cmp -s "$work/made" "$work/kept"; then die "$file: the command overwrites a key"; fi
    done <"$work/commands"
done

# RFC 9116: at least one contact, exactly one date of expiry.
grep -qE '^Contact: (mailto:|https://|tel:)' "$conf/security.txt" || die 'security.txt has no contact'
[ "$(grep -cxE 'Expires: [0-9]{4}(-[0-9]{2}){2}T([0-9]{2}:){2}[0-9]{2}Z' "$conf/security.txt")" = 1 ] || die 'security.txt must have one Expires'
