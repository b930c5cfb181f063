# SPDX-License-Identifier: Apache-2.0
"""Writes JSON values as YAML and reads them back: roundtrip.py PRINT [COUNT]. PRINT is the program of print.c."""
import json
import random
import subprocess
import sys

import yaml

AWKWARD = [
    "", " ", "  x", "x ", "\n", "x\n", "x\n\n", "\nx", "a\nb", "a\n b", " a\nb", "a \nb", "a\n\n\nb", "a\n  ", "a\tb", "\ta", "\r", "a\r\nb",
    "true", "False", "YES", "no", "on", "Off", "y", "N", "null", "Null", "~", "nan", ".nan", ".inf", "-.INF", "<<", "=",
    "0", "-1", "+1", "007", "0x1F", "0o17", "1_000", "1.5", "1.", ".5", "1e3", "1e+3", "12:30:45", "190:20", "3.1", "3.1.0", "1..2",
    "2026-01-31", "2026-01-31T13:45:10.123Z", "- a", "-", "--- a", "---", "...", "? a", "?", ": a", ":", "a: b", "a:", "a:b", "a :b",
    "a #b", "a#b", "#", "[a]", "{a}", "a, b", "]", "}", ",", "&a", "*a", "!a", "!!str a", "|", ">", ">-", "%a", "@a", "`a`", "'a'", '"a"',
    "a'b", 'a"b', "\\", "a\\n", "\x01", "\x1b[0m", "\x7f", "\x80", "\x85", "\x9f", "\xa0", "a\u2028b", "\u2029", "\ufeff", "a\ufeff",
    "\ufffd", "\ufffe", "\uffff", "Itaú", "É", "日本語", "🏠", "$ref", "/a/{b}", "a" * 300, "word " * 40 + "end", ("word " * 40) + " end",
    "x " + "y" * 200 + " z", "# " + "word " * 40, "- " + "word " * 40 + "end", "line\n" * 3 + "word " * 60 + "end", "é" * 90 + " é",
]
NUMBERS = [0, -1, 2**53 + 1, 2**63 - 1, -(2**63), 0.5, -0.25, 1e300, 1e-7, 123456.789]


def text(chance):
    if chance.random() < 0.3:
        return chance.choice(AWKWARD)
    alphabet = "ab \n:#-'\"\\[]{},&*!|>%@`?~\t0.e\x85\u2028é🏠"
    return "".join(chance.choice(alphabet) for _ in range(chance.randrange(12)))


def value(chance, depth):
    kind = chance.random()
    if depth and kind < 0.3:
        return [value(chance, depth - 1) for _ in range(chance.randrange(4))]
    if depth and kind < 0.6:
        return {text(chance): value(chance, depth - 1) for _ in range(chance.randrange(4))}
    return text(chance) if kind < 0.9 else chance.choice([None, True, False, *NUMBERS])


def main():
    printer, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300
    chance = random.Random(1)
    corpus = [AWKWARD, {word: word for word in AWKWARD}, NUMBERS, {"a": {}, "b": []}, [[], [[1, [2]], {}]], *AWKWARD, *NUMBERS,
              [[{"a": [{"b": "c", "d": ["e", {"f": None}]}]}]], *[value(chance, 5) for _ in range(count)]]
    for expected in corpus:
        made = subprocess.run([printer, "yaml"], input=json.dumps(expected), capture_output=True, text=True, check=True).stdout
        found = yaml.safe_load(made)
        if json.dumps(found) != json.dumps(expected):
            sys.exit(f"yaml: {expected!r}\nwas written as\n{made}\nand read as {found!r}")
    print(f"yaml: {len(corpus)} values written and read back")


main()
