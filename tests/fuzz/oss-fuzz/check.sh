#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs build.sh with the flags of OSS-Fuzz's base-builder and the clang of this machine, then each fuzzer as its base-runner does:
# check.sh CLANG FOLDER
set -eu
[ $# -eq 2 ] || { echo 'usage: check.sh CLANG FOLDER' >&2; exit 2; }
here=$(dirname "$(realpath "$0")")
mkdir -p "$2"
folder=$(realpath "$2")
rm -rf "$folder/out" "$folder/run"
mkdir -p "$folder/work" "$folder/out" "$folder/run"

flags='-O1 -fno-omit-frame-pointer -gline-tables-only -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION'
flags="$flags -fsanitize=address -fsanitize-address-use-after-scope -fsanitize=fuzzer-no-link"
name=${1##*/} # such as clang-19, whose C++ is clang++-19
env CC="$1" CXX="${1%"$name"}${name/clang/clang++}" CFLAGS="$flags" CXXFLAGS="$flags" LIB_FUZZING_ENGINE=-fsanitize=fuzzer SANITIZER=address WORK="$folder/work" \
    OUT="$folder/out" bash "$here/build.sh"

# The libraries are those in OUT; the same names of the system are not used.
for seeds in "$folder"/out/*_seed_corpus.zip; do
    name=$(basename "$seeds" _seed_corpus.zip)
    python3 -m zipfile -e "$seeds" "$folder/run/$name"
    inputs=$(find "$folder/run/$name" -type f | wc -l)
    [ "$inputs" -gt 0 ] || { echo "oss-fuzz: $name has no seeds" >&2; exit 1; }
    if ldd "$folder/out/$name" | awk '$3 ~ "^/" {print $3}' | grep -v "^$folder/out/lib/" | grep -vE '/lib(c|m|dl|rt|pthread|resolv)\.so'; then
        echo "oss-fuzz: $name needs these libraries, which are not in OUT" >&2
        exit 1
    fi
    options=(-max_len=4096 -seed=1 -runs=$((inputs + 2000)) -artifact_prefix="$folder/run/")
    [ ! -f "$folder/out/$name.dict" ] || options+=(-dict="$folder/out/$name.dict")
    env -i ASAN_OPTIONS=detect_leaks=0 "$folder/out/$name" "${options[@]}" "$folder/run/$name/$name" >"$folder/run/$name.log" 2>&1 ||
        { tail -n 40 "$folder/run/$name.log"; echo "oss-fuzz: $name failed" >&2; exit 1; }
    printf 'oss-fuzz: %s: %d seeds, no failure\n' "$name" "$inputs"
done
