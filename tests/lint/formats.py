# SPDX-License-Identifier: Apache-2.0
"""Checks format strings: APR's printf functions do not support the length modifiers ll and z. They print "%lld" literally, or read a
wrong argument."""
import re

import tree

CALL = re.compile(r"\bapr_\w*printf\s*\(|\b(?:neo_problem\w*|neo_openapi_json|neo_ctl_\w+)\s*\(")
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
MODIFIER = re.compile(r"%[-+ #0]*[\d.*]*(?:ll|z|j|t)[diouxX]")


def arguments(content, start):
    """The text of a call up to its closing parenthesis; parentheses in strings do not count."""
    plain = STRING.sub(lambda found: found.group(0).replace("(", " ").replace(")", " "), content[start:start + 4000])
    depth = 1
    for at, character in enumerate(plain):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return content[start:start + at]
    return ""


def find_complaints(path, content):
    for call in CALL.finditer(content):
        for text in STRING.findall(arguments(content, call.end())):
            found = MODIFIER.search(text)
            if found:
                line = content.count("\n", 0, call.start()) + 1
                yield f"{path}:{line}: {found.group(0)} in a call of APR: use APR_INT64_T_FMT, APR_SIZE_T_FMT or neo_buf_printf"


def main():
    root = tree.root()
    wrong, count = [], 0
    for path in tree.files(root, ".c", ".h"):
        count += 1
        wrong += find_complaints(path, tree.text(root, path))
    tree.report(wrong, f"{count} files")


main()
