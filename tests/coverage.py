# SPDX-License-Identifier: Apache-2.0
"""Measures with gcov which lines and branches of the sources the tests of `make check` execute: coverage.py BUILD

Prints a line for each folder of src/, and fails below the floor. BUILD/coverage/missed.txt lists what is not executed.
"""
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# Raise it when coverage rises. Which of two processes is faster changes some lines: two runs differ by about 0.1 %.
FLOOR = {"lines": 95.5, "branches": 87.0}
MARKS = "not alone and not unsanitized and not slow"

build = pathlib.Path(sys.argv[1]).absolute()
objects = build / "coverage/obj"


def make(*arguments, **environment):
    return subprocess.run(["make", "-s", "COV=1", f"BUILD={build}", *arguments], env={**os.environ, **environment}).returncode


def prepare(counters):
    """Empty files for the counters, beside copies of gcc's notes. httpd's processes have two users and write to the same files."""
    counters.chmod(0o755)
    for notes in [*objects.glob("src/*/*.gcno"), objects / "mod_neoapi.gcno"]:
        copy = counters / notes.relative_to("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(notes, copy)
        copy.with_suffix(".gcda").touch()
        copy.with_suffix(".gcda").chmod(0o666)


def read(counters):
    """Yields gcov's (file, line number, number of executions, numbers of its branches)."""
    files = [path for path in sorted(counters.rglob("*.gcda")) if path.stat().st_size and path.with_suffix(".gcno").exists()]
    done = subprocess.run(["gcov", "--branch-probabilities", "--branch-counts", "--json-format", "--stdout", *files], capture_output=True, text=True, check=True)
    for document in done.stdout.splitlines():
        for file in json.loads(document)["files"]:
            for line in file["lines"]:
                yield file["file"], line["line_number"], line["count"], [branch["count"] for branch in line["branches"]]


def summarize(counters):
    """{folder: {"lines": [executed, all], "branches": …}}, and the lines that are not executed or have a branch never taken."""
    sums = collections.defaultdict(lambda: {"lines": [0, 0], "branches": [0, 0]})
    missed = []
    for file, number, count, branches in read(counters):
        if not file.startswith(("src/", "mod_neoapi.c")):
            continue
        for sums_of_folder in (sums[str(pathlib.PurePath(file).parent)], sums["total"]):
            for what, counts in ("lines", [count]), ("branches", branches):
                sums_of_folder[what][0] += sum(1 for one in counts if one)
                sums_of_folder[what][1] += len(counts)
        if not count or not all(branches):
            missed.append(f"{file}:{number}: " + ("not executed" if not count else f"branches {branches}"))
    return sums, missed


def main():
    with tempfile.TemporaryDirectory(prefix="neoapi-coverage.", dir="/var/tmp") as folder:
        counters = pathlib.Path(folder)
        jobs = f"-j{os.cpu_count()}"
        if make(jobs, "all"):
            sys.exit("coverage: it does not build")
        prepare(counters)
        failed = make(jobs, "unit", GCOV_PREFIX=folder) + make("e2e-parallel", f"MARKS={MARKS}", GCOV_PREFIX=folder)
        sums, missed = summarize(counters)
    (build / "coverage/missed.txt").write_text("\n".join(missed) + "\n")
    total = sums.pop("total")
    for name, found in [*sorted(sums.items()), ("total", total)]:
        print(f"coverage: {name:<14}", *(f"{what} {100 * part / max(whole, 1):5.1f} % of {whole:<6}" for what, (part, whole) in found.items()))
    low = [what for what, (part, whole) in total.items() if 100 * part < FLOOR[what] * whole]
    for what in low:
        print(f"coverage: fewer {what} than {FLOOR[what]} % are executed; {build}/coverage/missed.txt has those that are not")
    sys.exit(1 if failed or low else 0)


main()
