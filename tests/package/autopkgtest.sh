#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs debian/tests as Debian does, in the machine that it is started in (see machine.sh). The source lies beside the package.
# The machine is thrown away afterwards, which is what the restrictions ask for.
set -eu
echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/90trial
autopkgtest --ignore-restrictions=breaks-testbed,isolation-container --no-built-binaries ./libapache2-mod-neoapi_*.deb ./source/ -- null
