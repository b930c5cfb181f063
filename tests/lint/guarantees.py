# SPDX-License-Identifier: Apache-2.0
"""Checks that every guarantee in SECURITY.md, and every line of mod_neoapi in the comparison of webhooks, names its tests, as `FILE`,
`FILE::TEST` or `FOLDER/`, and that each exists."""
import pathlib
import re

import tree

TEXT = pathlib.PurePath("SECURITY.md")
COMPARISON = pathlib.PurePath("doc/webhooks-compared.md")
OWN = "| mod_neoapi |"
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


def own_rows(content):
    """The number and the last cell of each line that says what mod_neoapi does."""
    for number, line in enumerate(content.splitlines(), 1):
        if line.startswith(OWN):
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


def find_complaints(root, path, number, cell):
    names = NAME.findall(cell)
    if not names:
        yield f"{path}:{number}: the guarantee names no test"
    for name in names:
        if not is_test(root, name):
            yield f"{path}:{number}: there is no test {name}"


def main():
    root = tree.root()
    found = [(TEXT, *row) for row in rows(tree.text(root, TEXT))]
    own = [(COMPARISON, *row) for row in own_rows(tree.text(root, COMPARISON))]
    wrong = [complaint for row in found + own for complaint in find_complaints(root, *row)]
    if not found:
        wrong.append(f"{TEXT}: no table begins with {HEADING}")
    if not own:
        wrong.append(f"{COMPARISON}: no line begins with {OWN}")
    tree.report(wrong, f"{len(found) + len(own)} guarantees")


main()
