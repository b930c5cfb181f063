# SPDX-License-Identifier: Apache-2.0
"""Checks that no text mentions the machine that it was written on, package mirrors, or open tasks."""
import re

import tree

# Each pattern is written so that it does not match itself.
FORBIDDEN = (
    ("a path of somebody's machine", r"(?<![\w.})-])/(?:w[o]rk(?![\w-])|r[o]ot/\w|(?:h[o]me|U[s]ers)/\w)"),
    ("a package registry's host",
     r"\b(?:registry\.npmjs|npmjs\.(?:org|com)|pypi\.(?:org|python)|pythonhosted\.org|(?:deb|security|ftp)\.debian\.org"
     r"|crates\.io|ghcr\.io|docker\.io|quay\.io|gcr\.io|proxy\.golang|rubygems\.org)"
     r"|[a-z]+://[\w.-]*(?:registry|artifactory|nexus|mirror|proxy)[\w-]*[.:/]"),
    ("a note of what is still to be done", r"\b(?:TO[D]O|FIX[M]E|X[X]X)\b"),
)


def find_complaints(path, content):
    for number, line in enumerate(content.splitlines(), 1):
        for what, pattern in FORBIDDEN:
            found = re.search(pattern, line)
            if found:
                yield f"{path}:{number}: {what}: {found.group(0)}"


def main():
    root = tree.root()
    wrong, count = [], 0
    for path in tree.files(root):
        content = tree.text(root, path)
        if content is not None:
            count += 1
            wrong += find_complaints(path, content)
    tree.report(wrong, f"{count} files")


main()
