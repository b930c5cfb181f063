#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs lintian on the package in the machine that it is started in (see machine.sh), so that it is the one of the machine's release.
set -eu
lintian --allow-root -EvIL +pedantic --fail-on error,warning ./mod-neoapi_*.changes
