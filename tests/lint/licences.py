# SPDX-License-Identifier: Apache-2.0
"""Checks that every source file names its licence in the first line, or in the second if the first starts with `#!`."""
import tree

SUFFIXES = (".awk", ".c", ".conf", ".css", ".go", ".h", ".ini", ".js", ".lua", ".mjs", ".py", ".sh", ".sql", ".ts")
LICENCE = "SPDX-License-Identifier: Apache-2.0"


def names_licence(content):
    first, second, *_ = [*content.splitlines(), "", ""]
    return LICENCE in (second if first.startswith("#!") else first)


def main():
    root = tree.root()
    paths = tree.files(root, *SUFFIXES)
    tree.report([f"{path}:1: the first line must be a comment with {LICENCE}" for path in paths
                 if not names_licence(tree.text(root, path))], f"{len(paths)} files")


main()
