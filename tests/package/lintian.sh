#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs lintian on the package in a machine of machine.sh, so that its version is that of the release.
set -eu
lintian --allow-root -EvIL +pedantic --fail-on error,warning ./mod-neoapi_*.changes
