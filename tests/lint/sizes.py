# SPDX-License-Identifier: Apache-2.0
"""Checks the lengths of C files and functions."""
import re
import subprocess

import tree

FILE_LINES = 500
FUNCTION_LINES = 45
SHORTER_FILES = {"mod_neoapi.c": 249}


def functions(root, paths):
    """(path, name, first line, last line) of every function, as ctags sees them."""
    done = subprocess.run(
        ["ctags", "--options=NONE", "--languages=C", "--map-C=+.h", "--kinds-C=f", "--fields=ne", "--excmd=number", "--sort=no",
         "-f", "-", *paths], cwd=root, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        name, path, *rest = line.split("\t")
        fields = dict(field.split(":", 1) for field in rest if ":" in field)
        yield path, name, int(fields["line"]), int(fields.get("end", 0))


def too_long(root, path):
    limit = SHORTER_FILES.get(str(path), FILE_LINES)
    lines = len((tree.text(root, path) or "").splitlines())
    return [f"{path}: {lines} lines; at most {limit}"] if lines > limit else []


def unseen(root, path, ranges):
    """Blocks that ctags does not recognize as functions, whose length would not be checked."""
    for number, line in enumerate((tree.text(root, path) or "").splitlines(), 1):
        if re.fullmatch(r"\{\s*", line) and not any(first <= number <= last for first, last in ranges):
            yield f"{path}:{number}: ctags sees no function here, so its length is not known"


def main():
    root = tree.root()
    paths = tree.files(root, ".c", ".h")
    wrong, ranges, longest = [], {}, 0
    for path in paths:
        wrong += too_long(root, path)
    for path, name, first, last in functions(root, paths):
        ranges.setdefault(path, []).append((first, last))
        longest = max(longest, last - first + 1)
        if last - first + 1 > FUNCTION_LINES:
            wrong.append(f"{path}:{first}: {name} has {last - first + 1} lines; at most {FUNCTION_LINES}")
    for path in paths:
        wrong += unseen(root, path, ranges.get(str(path), []))
    tree.report(wrong, f"{len(paths)} files, {sum(map(len, ranges.values()))} functions, the longest of {longest} lines")


main()
