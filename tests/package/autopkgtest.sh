#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs debian/tests like Debian, in a machine of machine.sh, with the source and the package in its directory. The machine is
# deleted afterwards, as the tests' restrictions require.
set -eu
echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/90trial
autopkgtest --ignore-restrictions=breaks-testbed,isolation-container --no-built-binaries ./libapache2-mod-neoapi_*.deb ./source/ -- null
