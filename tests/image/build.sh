#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the container image from a package of build.sh of tests/package and Debian's packages: build.sh PACKAGE_DIR DIR
# NEOAPI_RELEASE and NEOAPI_ARCHITECTURE are those of the package (this machine's). No program of the image is run. DIR gets
#   oci                 an OCI layout with the image, as mod-neoapi:VERSION
#   mod-neoapi.tar      the same for docker load and podman load
#   base.tar module.tar the layers; root: what they make together
#   mod-neoapi.spdx.json, mod-neoapi.cyclonedx.json   the list of components; provenance.json: commit, command, packages
# NEOAPI_DEBS=FOLDER uses these packages of Debian instead of downloading the current ones, to make the same image again.
set -euo pipefail
export LC_ALL=C TZ=UTC
umask 022
here=$(dirname "$(realpath "$0")")
root=$(realpath "$here/../..")
# shellcheck source=tests/package/release.sh
. "$root/tests/package/release.sh"
[ $# -eq 2 ] || { echo 'usage: build.sh PACKAGE_DIR DIR' >&2; exit 2; }
packages=$(realpath "$1")
mkdir -p "$2"
dir=$(realpath "$2")
deb=$(echo "$packages"/libapache2-mod-neoapi_*_"$architecture".deb)
[ -f "$deb" ] || { echo 'image: there is no package; make package makes it' >&2; exit 1; }
version=$(dpkg-deb -f "$deb" Version)
epoch=$(dpkg-parsechangelog -l "$root/debian/changelog" -S Timestamp)
created=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)
commit=$(git -C "$root" rev-parse HEAD 2>/dev/null || echo unknown)
[ -z "$(git -C "$root" status --porcelain 2>/dev/null)" ] || commit=$commit-dirty

# The packages that the module depends on, without alternatives and versions, for apt, which resolves the rest.
debs=${NEOAPI_DEBS:-$dir/debs}
wanted=$(dpkg-deb -f "$deb" Depends | tr , '\n' | sed 's/[(|].*//; s/ //g' | sort -u | tr '\n' ' ')
if [ -z "${NEOAPI_DEBS:-}" ]; then
    rm -rf "$debs"
    mkdir -p "$debs"
    # shellcheck disable=SC2016 # mmdebstrap fills in $1 and its variable
    mmdebstrap --quiet --variant=extract --format=null --architectures="$architecture" \
        --extract-hook='APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get -qq -y --no-install-recommends -o APT::Get::Download-Only=true \
            install base-files apache2-bin ca-certificates libgcc-s1 '"$wanted" \
        --extract-hook="cp \"\$1\"/var/cache/apt/archives/*.deb '$debs/'" "$release" /dev/null
fi

/usr/bin/python3 -B "$here/layers.py" "$debs" "$deb" "$dir" "$epoch"
/usr/bin/python3 -B "$here/sbom.py" image "$dir/root" "$deb" "$dir/mod-neoapi" "$epoch"

tag=${version/"$suffix"/} # the label base.name has the release
tag=${tag//[!A-Za-z0-9_.-]/-} # a tag has no + and ~
oci=$dir/oci image=mod-neoapi:$tag
rm -rf "$oci"
umoci init --layout "$oci"
umoci new --image "$oci:$tag"
for layer in base module; do
    umoci raw add-layer --image "$oci:$tag" --history.created "$created" --history.created_by "$layer.tar" "$dir/$layer.tar"
done
umoci config --image "$oci:$tag" --created "$created" --no-history --architecture "$architecture" --os linux \
    --config.user 33:33 --config.entrypoint /usr/bin/neoapictl --config.cmd serve --config.stopsignal SIGWINCH \
    --config.workingdir / --config.env PATH=/usr/bin:/usr/sbin --config.exposedports 8443/tcp --config.exposedports 8081/tcp \
    --config.label org.opencontainers.image.title=mod_neoapi --config.label "org.opencontainers.image.version=$version" \
    --config.label org.opencontainers.image.licenses=Apache-2.0 --config.label "org.opencontainers.image.revision=$commit" \
    --config.label "org.opencontainers.image.base.name=Debian $release"
umoci gc --layout "$oci"
rm -f "$dir/mod-neoapi.tar"
skopeo --insecure-policy copy --quiet "oci:$oci:$tag" "docker-archive:$dir/mod-neoapi.tar:$image"
/usr/bin/python3 -B "$here/provenance.py" "$root" "make image RELEASE=$release ARCHITECTURE=$architecture" "$release" "$dir/mod-neoapi.tar" "$dir/oci/index.json" \
    >"$dir/provenance.json"
echo "$dir/mod-neoapi.tar: $image, $(stat -c %s "$dir"/oci/blobs/sha256/* | awk '{sum += $1} END {printf "%.1f", sum / 1e6}') MB"
