#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the fuzzers in a folder: fuzz.sh run|check|keep FOLDER FUZZER…
#
#   run     NEOAPI_FUZZ_RUNS executions (10,000,000), with a process for each processor. New inputs are added to FOLDER/<fuzzer>.corpus,
#           inputs that fail are written to FOLDER
#   check   the inputs of tests/fuzz/<fuzzer>.txt, whole and cut off (see replay.c); FOLDER has programs with that main()
#   keep    reduces the corpus to the fewest inputs with the same coverage and writes them to tests/fuzz/<fuzzer>.txt
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 3 ] || { sed -n '2,8s/^# *//p' "$0" >&2; exit 2; }
command=$1 folder=$2
shift 2
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=0 UBSAN_OPTIONS=print_stacktrace=1

# The options of all runs.
fuzz() {
    name=$1
    shift
    [ ! -f "$here/$name.dict" ] || set -- -dict="$here/$name.dict" "$@"
    "$folder/$name" -max_len=4096 -timeout=10 -rss_limit_mb=1024 -artifact_prefix="$folder/" -print_final_stats=1 "$@"
}

unpack() {
    mkdir -p "$2"
    /usr/bin/python3 -B "$here/corpus.py" unpack "$here/$1.txt" "$2"
}

report() {
    sed -n 's/^stat::number_of_executed_units: *\([0-9]*\)$/\1/p' "$@" | awk -v name="$name" '{ n += $1 }
        END { printf "fuzz: %s: %d executions, no failure\n", name, n }'
}

failed() {
    grep -v '^#' "$1" | tail -n 60
    echo "fuzz: $name: failed; see $1"
    exit 1
}

run() {
    unpack "$name" "$folder/$name.corpus"
    jobs=$(nproc)
    pids=''
    for job in $(seq "$jobs"); do
        fuzz "$name" -runs=$(((${NEOAPI_FUZZ_RUNS:-10000000} + jobs - 1) / jobs)) -reload=30 "$folder/$name.corpus" \
            >"$folder/$name.$job.log" 2>&1 &
        pids="$pids $!"
    done
    trap 'kill $pids 2>/dev/null; exit 130' INT TERM HUP
    job=0
    for pid in $pids; do
        job=$((job + 1))
        wait "$pid" || failed "$folder/$name.$job.log"
    done
    report $(seq -f "$folder/$name.%g.log" "$jobs")
}

check() {
    rm -rf "$folder/$name.kept"
    unpack "$name" "$folder/$name.kept"
    (cd "$folder" && find "$name.kept" -type f | sort | xargs "./$name") >"$folder/$name.check.log" 2>&1 ||
        failed "$folder/$name.check.log"
    echo "fuzz: $name: $(tail -n 1 "$folder/$name.check.log")"
}

keep() {
    rm -rf "$folder/$name.fewest"
    mkdir "$folder/$name.fewest"
    unpack "$name" "$folder/$name.corpus"
    fuzz "$name" -max_len=700 -set_cover_merge=1 "$folder/$name.fewest" "$folder/$name.corpus" >"$folder/$name.merge.log" 2>&1 ||
        failed "$folder/$name.merge.log"
    /usr/bin/python3 -B "$here/corpus.py" pack "$folder/$name.fewest" "$here/$name.txt"
    echo "fuzz: $name: $(wc -l <"$here/$name.txt") inputs, $(wc -c <"$here/$name.txt") bytes"
}

for name; do
    case $command in
        run | check | keep) $command ;;
        *) echo "fuzz.sh: no command $command" >&2; exit 2 ;;
    esac
done
