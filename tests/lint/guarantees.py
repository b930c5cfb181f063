# SPDX-License-Identifier: Apache-2.0
"""Checks that every guarantee in SECURITY.md names its tests, as `FILE`, `FILE::TEST` or `FOLDER/`, and that each exists."""
import pathlib
import re

import tree

TEXT = pathlib.PurePath("SECURITY.md")
HEADING = "| guarantee | test |"
END_TO_END = pathlib.PurePath("tests/e2e")
NAME = re.compile(r"`([^`]+)`")


def rows(content):
    """The number and the last cell of each line of the table of guarantees, if there is such a table."""
    lines = content.splitlines()
    start = lines.index(HEADING) + 2 if HEADING in lines else len(lines)
    for number, line in enumerate(lines[start:], start + 1):
        if not line.startswith("|"):
            return
        yield number, line.rstrip("| ").rpartition("|")[2]


def is_test(root, name):
    """Whether a name in the table is a test: a file, a folder, or a function of a file, below tests/ or else of tests/e2e/."""
    file, _, function = name.partition("::")
    path = pathlib.PurePath(file) if file.startswith("tests/") else END_TO_END / file
    if not (root / path).exists():
        return False
    if path.suffix != ".py":
        return not function
    return re.search(rf"^def {re.escape(function) or 'test_'}{'[(]' if function else ''}", tree.text(root, path), re.MULTILINE) is not None


def complaints_of(root, number, cell):
    names = NAME.findall(cell)
    if not names:
        yield f"{TEXT}:{number}: the guarantee names no test"
    for name in names:
        if not is_test(root, name):
            yield f"{TEXT}:{number}: there is no test {name}"


def main():
    root = tree.root()
    found = list(rows(tree.text(root, TEXT)))
    wrong = [complaint for number, cell in found for complaint in complaints_of(root, number, cell)]
    if not found:
        wrong.append(f"{TEXT}: no table begins with {HEADING}")
    tree.report(wrong, f"{len(found)} guarantees")


main()
