#!/bin/sh
# Checks the configuration that is shipped, conf/neoapi.conf: httpd accepts it, with the commented defaults switched on, and it
# mentions every directive that the module has. check-conf.sh MODULE
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=/dev/null
. "$here/common.sh"
[ $# -eq 1 ] || die "usage: check-conf.sh MODULE"
module=$(absolute "$1")
conf=$here/../../conf/neoapi.conf
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

# An administrator's paths become ones that are here.
sed -e "s|/etc/neoapi/key|$work/key|" -e "s|/etc/ssl/certs/.*|$work/tls.pem|" -e "s|/etc/ssl/private/.*|$work/tls.key|" \
    -e 's|^\( *\)#\(NeoAPI\)|\1\2|' -e "s|\${APACHE_LOG_DIR}|$work|" "$conf" >"$work/neoapi.conf"
{
    printf 'ServerRoot "%s"\nDefaultRuntimeDir "%s"\nPidFile "%s/pid"\nErrorLog "%s/error.log"\n' "$work" "$work" "$work" "$work"
    for name in mpm_event authz_core ssl socache_shmcb http2 dbd reqtimeout filter deflate headers; do
        printf 'LoadModule %s_module "%s/mod_%s.so"\n' "$name" "$modules" "$name"
    done
    printf 'LoadModule neoapi_module "%s"\nInclude "%s/neoapi.conf"\n' "$module" "$work"
} >"$work/httpd.conf"
"$apache" -t -f "$work/httpd.conf" 2>"$work/verdict" || { cat "$work/verdict" >&2; die "httpd does not accept conf/neoapi.conf"; }

grep -aoE 'NeoAPI[A-Z][A-Za-z]+' "$module" | sort -u >"$work/directives"
[ -s "$work/directives" ] || die "$module names no directive"
while read -r directive; do
    grep -qE "^ *#?$directive " "$conf" || die "conf/neoapi.conf does not mention $directive"
done <"$work/directives"
