# SPDX-License-Identifier: Apache-2.0
"""Refuses circles between files. A source depends on another one if its code names a function that the other defines, and a header on
those that it includes. Constant tables do not count: code gets the resources, jobs and commands from a table that points to them."""
import re

import tree

DEFINITION = re.compile(r"^(?!static\b)\w[^;{}#]*?\b(neo_\w+)\([^;{}]*\)\n\{", re.MULTILINE)
NO_CODE = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def code(root, path):
    """A file without comments and texts."""
    return NO_CODE.sub('""', tree.text(root, path) or "")


def dependencies(root):
    """{file: {other file: what it needs of it}}"""
    sources = [p for p in tree.files(root, ".c") if p.parts[0] == "src" or str(p) == "mod_neoapi.c"]
    headers = [p for p in tree.files(root, ".h") if p.parts[0] in ("src", "include")]
    texts = {path: code(root, path) for path in sources}
    definers = {name: path for path, text in texts.items() for name in DEFINITION.findall(text)}
    needs = {path: {definers[name]: name for name in sorted(set(re.findall(r"\bneo_\w+", text))) if name in definers}
             for path, text in texts.items()}
    for path in headers:
        names = INCLUDE.findall(tree.text(root, path) or "")
        needs[path] = {other: name for name in names for other in (type(path)("include", name), path.parent / name) if other in headers}
    return needs


def circle(needs, start):
    """The files of a shortest path from a file back to itself, or None."""
    paths = [[start]]
    seen = set()
    for path in paths:
        for other in sorted(needs[path[-1]]):
            if other == start and len(path) > 1:
                return path
            if other not in seen and other != path[-1]:
                seen.add(other)
                paths.append([*path, other])
    return None


def main():
    needs = dependencies(tree.root())
    found = {frozenset(path): path for path in (circle(needs, file) for file in needs) if path}
    errors = []
    for path in found.values():
        steps = [f"{a} needs {needs[a][b]} of {b}" for a, b in zip(path, path[1:] + path[:1])]
        errors.append("a circle: " + ", ".join(steps) + "; move one of these, or what both need, to a third file")
    tree.report(errors, f"{len(needs)} files, {sum(map(len, needs.values()))} dependencies")


main()
