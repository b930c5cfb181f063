#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Writes the list of components of the package in INTO, which was built on the system ROOT from DIR/source: components.sh ROOT DIR INTO
set -euo pipefail
source=$2/source
exec /usr/bin/python3 -B "$source/tests/image/sbom.py" package "$1" "$3"/libapache2-mod-neoapi_*.deb "$3/mod-neoapi" \
    "$(dpkg-parsechangelog -l "$source/debian/changelog" -S Timestamp)"
