#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Creates the virtual host of the API on Debian. neoapictl runs it as root: sh -c SCRIPT neoapictl NAME KIND [CERTIFICATE KEY | EMAIL]
# KIND is self-signed, files or acme; $NEOAPI_SITE_TEMPLATE has conf/neoapi.conf. If a step fails, all of them are undone.
set -eu
name=$1 kind=$2
conf=${APACHE_CONFDIR:-/etc/apache2} etc=/etc/neoapi
site=$conf/sites-available/neoapi.conf examples=/usr/share/doc/libapache2-mod-neoapi/examples
made='' modules='' was_active='' is_begun='' is_reloaded='' disabled=''

fail() {
    printf 'neoapictl: %s\n' "$*" >&2
    exit 1
}

# manage RELOAD-OR-RESTART|STOP
manage() {
    if [ -d /run/systemd/system ]; then
        systemctl reset-failed apache2 2>/dev/null || true # many starts within a short time are refused
        systemctl "$1" apache2
    elif [ "$1" = stop ]; then
        apachectl stop
    else
        apachectl graceful
    fi
}

undo() {
    status=$?
    trap - EXIT
    [ "$status" -ne 0 ] || exit 0
    if [ -n "$is_begun" ]; then
        a2dissite -q neoapi >/dev/null 2>&1 || true
        [ -z "$disabled" ] || a2ensite -q "$disabled" >/dev/null 2>&1 || true
        for load in "$conf"/mods-enabled/*.load; do
            module=$(basename "$load" .load)
            case " $modules " in *" $module "*) ;; *) a2dismod -q -f "$module" >/dev/null 2>&1 || true ;; esac
        done
        for file in $made; do rm -f "$file"; done
        if [ -n "$is_reloaded" ] && [ -n "$was_active" ]; then
            manage reload-or-restart
        elif [ -n "$is_reloaded" ]; then
            manage stop || true
        fi
    fi >&2
    echo 'neoapictl: nothing was changed' >&2
    exit 1
}
trap undo EXIT
trap 'exit 130' INT TERM HUP

pid_file=$(sh -c '. "$1/envvars" && echo "$APACHE_PID_FILE"' - "$conf" 2>/dev/null) || pid_file=/var/run/apache2/apache2.pid
is_active() { [ -s "$pid_file" ] && kill -0 "$(cat "$pid_file")" 2>/dev/null; }

# Fails if another program than Apache listens on the port. Apache would end when it is reloaded.
check_port() {
    hex=$(printf ':%04X' "$1")
    inodes=$(awk -v port="$hex" '$4 == "0A" && substr($2, length($2) - 4) == port {print $10}' /proc/net/tcp* 2>/dev/null)
    for inode in $inodes; do
        held=$(is_active && find "/proc/$(cat "$pid_file")/fd" -lname "socket:?$inode?") || true
        [ -n "$held" ] ||
            fail "another program uses port $1; find it with ss -ltnp sport = :$1, and stop it"
    done
}

# Whether Debian's default site is as it was installed, and serves nothing but the page that was installed with it.
is_default_unused() {
    file=$conf/sites-available/000-default.conf
    installed=$(dpkg-query -W -f='${Conffiles}\n' apache2 2>/dev/null | awk -v file="$file" '$1 == file {print $2}')
    [ -n "$installed" ] && [ "$(md5sum <"$file")" = "$installed  -" ] && [ "$(ls -A /var/www/html 2>/dev/null)" = index.html ] &&
        cmp -s /var/www/html/index.html /usr/share/apache2/default-site/index.html &&
        ! find "$conf"/conf-enabled/ -type l -printf '%f\n' |
            grep -qvxE '(charset|localized-error-pages|other-vhosts-access-log|security|serve-cgi-bin|server-neoapi)\.conf'
}

check_files() {
    for file in "$1" "$2"; do
        [ -r "$file" ] || fail "$file does not exist or cannot be read"
        case $file in *[!A-Za-z0-9/._+@:-]*) fail "the path $file has characters that are not accepted here" ;; esac
    done
    public=$(openssl x509 -in "$1" -noout -pubkey 2>/dev/null) || fail "$1 is not a certificate in PEM format"
    [ "$public" = "$(openssl pkey -in "$2" -pubout 2>/dev/null </dev/null)" ] || fail "$2 is not the key of the certificate $1"
    openssl x509 -in "$1" -noout -checkend 0 >/dev/null || fail "the certificate $1 has expired"
    openssl x509 -in "$1" -noout -checkhost "$name" | grep -q 'does match' || fail "the certificate $1 is not for $name"
}

# ---------------------------------------------------------------- checks before anything is changed

command -v a2ensite >/dev/null ||
    fail "there is no Apache with Debian's layout; copy neoapi.conf from the examples to its configuration instead"
[ "$(id -u)" -eq 0 ] || fail 'run it as root'
if [ -e "$site" ] || [ -h "$site" ]; then fail "$site exists; edit it, or remove it to create it again; a second virtual host is shown in $examples/several-hosts.conf"; fi
[ -s "$etc/key" ] || fail "the encryption key is missing; create it with: (set -C && umask 077 && openssl rand -base64 32 >$etc/key)"
found=$(apachectl configtest 2>&1) || fail "Apache's configuration has errors already; correct them first: $found"
check_port 443
check_port 80
if is_active; then was_active=1; fi

certificate=$etc/site.pem key=$etc/site.key
case $kind in
    files)
        certificate=$(realpath "$3") key=$(realpath "$4")
        check_files "$certificate" "$key" ;;
    self-signed)
        if [ -e "$certificate" ] || [ -e "$key" ]; then fail "$certificate or $key exists; use them with --certificate and --key"; fi ;;
esac

# ---------------------------------------------------------------- the site

for load in "$conf"/mods-enabled/*.load; do modules="$modules $(basename "$load" .load)"; done
is_begun=1
set -C # two of these commands cannot run at the same time
(umask 022 && printf '%s' "$NEOAPI_SITE_TEMPLATE" |
    sed -e "s|/etc/ssl/certs/api\.example\.com\.pem|$certificate|; s|/etc/ssl/private/api\.example\.com\.key|$key|" \
        -e "s/api\.example\.com/$name/g" >"$site") || { is_begun=; fail "$site cannot be created"; }
set +C
made=$site

anchor=$certificate
case $kind in
    self-signed)
        made="$made $certificate $key"
        (umask 077 && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -subj '/CN=self-signed' \
            -addext "subjectAltName=DNS:$name" -keyout "$key" -out "$certificate" 2>/dev/null) || fail 'openssl made no certificate'
        chmod 644 "$certificate" ;;
    acme)
        sed -i -e '/^ *SSLCertificate\(Key\)*File /d' \
            -e "s/^# Edit: the host's name and its certificate\./MDomain $name\nMDContactEmail $3\nMDCertificateAgreement accepted\n/" "$site"
        anchor=/etc/ssl/certs/ca-certificates.crt ;;
esac
# What clients on this host verify the site with.
[ -e "$etc/ca.pem" ] || made="$made $etc/ca.pem"
ln -sf "$anchor" "$etc/ca.pem"

a2enmod -q neoapi dbd ssl http2 headers reqtimeout filter deflate >/dev/null
[ "$kind" != acme ] || a2enmod -q md >/dev/null
a2ensite -q neoapi >/dev/null

# The virtual host that answers http://$name. Unless Debian's default site sets a name, it has the host's, and comes first.
first=$(apachectl -t -D DUMP_VHOSTS 2>/dev/null | sed -n "s/^ *port 80 namevhost $name (\(.*\):[0-9]*)\$/\1/p" | head -n 1)
case $first in
    '' | "$conf/sites-enabled/neoapi.conf") first= ;;
    "$conf/sites-enabled/000-default.conf")
        if is_default_unused; then
            disabled=000-default first=
            a2dissite -q "$disabled" >/dev/null
        fi ;;
esac

found=$(apachectl configtest 2>&1) || fail "Apache does not accept the site: $found"
is_reloaded=1
manage reload-or-restart || fail 'Apache does not start with the site; see its error log'

# Until Apache serves the site's certificate. One from mod_md comes later.
fingerprint() { openssl x509 -noout -fingerprint -sha256 2>/dev/null; }
expected=$([ "$kind" = acme ] || fingerprint <"$certificate")
tries=100
until is_active && served=$(openssl s_client -connect localhost:443 -servername "$name" </dev/null 2>/dev/null | fingerprint) &&
    [ "${expected:-$served}" = "$served" ]; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || fail "Apache does not serve $name with this certificate; see its error log, and: apachectl -t -D DUMP_VHOSTS"
    sleep 0.1
done

if [ -n "$disabled" ]; then
    echo "neoapictl: disabled Debian's default site, which would have answered http://$name; to enable it: a2ensite $disabled" >&2
elif [ -n "$first" ]; then
    printf '%s\n' "neoapictl: warning: http://$name is answered by $first, so clients that send their key without TLS do not learn" \
        "that it must be revoked; give that virtual host another ServerName, then: systemctl reload apache2" >&2
fi
