#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the fuzzers for OSS-Fuzz, which sets CC, CXX, CFLAGS, CXXFLAGS, LIB_FUZZING_ENGINE, WORK and OUT. Writes to OUT, for each
# fuzzer, the program, its dictionary and options, and a zip file with its stored inputs; and to OUT/lib the shared libraries, because the
# programs run in an image without them.
# `make oss-fuzz-check` runs this script without an image. CONTRIBUTING.md says what the Dockerfile does.
set -eu
cd "$(dirname "$(realpath "$0")")/../../.."
fuzz=$WORK/build/fuzz
mapfile -t fuzzers < <(sed -n 's/^FUZZERS *:= *//p' Makefile | tr ' ' '\n')

# What is generated is built without sanitizers. RPATH, unlike RUNPATH, also applies to the libraries of libraries.
# shellcheck disable=SC2016 # make and the linker fill in the variables
env CC=gcc CFLAGS='-O1 -g' CPPFLAGS= LDFLAGS= NEOAPI_INSTALL=no make -j"$(nproc)" --no-print-directory fuzz-programs \
    BUILD="$WORK/build" WERROR= CLANG="$CC" FUZZ_COMPILE="$CFLAGS" \
    FUZZ_LINK="$CXX $CXXFLAGS $LIB_FUZZING_ENGINE -Wl,--disable-new-dtags "'-Wl,-rpath,\$$ORIGIN/lib'

mkdir -p "$OUT/lib"
for name in "${fuzzers[@]}"; do
    cp "$fuzz/$name" "$OUT/"
    ldd "$OUT/$name" | awk '$3 ~ "^/" {print $3}' | { grep -vE '/lib(c|m|dl|rt|pthread|resolv)\.so' || true; } | xargs cp -n -t "$OUT/lib"
    [ ! -f "tests/fuzz/$name.dict" ] || cp "tests/fuzz/$name.dict" "$OUT/"
    printf '[libfuzzer]\nmax_len = 4096\n' >"$OUT/$name.options"
    seeds=$WORK/seeds/$name
    rm -rf "$seeds"
    mkdir -p "$seeds"
    python3 -B tests/fuzz/corpus.py unpack "tests/fuzz/$name.txt" "$seeds"
    (cd "$WORK/seeds" && python3 -m zipfile -c "$OUT/${name}_seed_corpus.zip" "$name/")
done
