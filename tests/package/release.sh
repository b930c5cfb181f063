# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034 # the scripts beside this one use them
# Sets $release, the Debian release to build and test for: NEOAPI_RELEASE, else the one of this machine, else the newest one tested.
# $architecture is NEOAPI_ARCHITECTURE, such as arm64, else that of this machine, which is $own_architecture.
# $own_release is the one of this machine, empty if it is not Debian. $suffix ends the package's version, so that the same version for a
# newer release of Debian sorts higher and an upgrade of Debian installs it. Sourced, not run.
own_release=$(
    ID='' VERSION_CODENAME=''
    # shellcheck source=/dev/null
    [ ! -r /etc/os-release ] || . /etc/os-release
    [ "$ID" != debian ] || echo "$VERSION_CODENAME"
)
release=${NEOAPI_RELEASE:-${own_release:-trixie}}
own_architecture=$(dpkg --print-architecture)
architecture=${NEOAPI_ARCHITECTURE:-$own_architecture}
case $release in
    bookworm) suffix='~deb12u1' ;;
    trixie) suffix='~deb13u1' ;;
    *[!a-z]*) echo "'$release' is not the name of a Debian release, such as trixie" >&2; exit 2 ;;
    *) suffix= ;;
esac
