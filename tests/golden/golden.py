# SPDX-License-Identifier: Apache-2.0
"""Formats the generated SQL, which print.c prints: golden.py show|write|check PROGRAM [RESOURCE]"""
import difflib
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parent
WIDTH = 140
TOKEN = re.compile(r"(\s*)('(?:[^']|'')*'|\"[^\"]*\"|\$?[\w.*\[\]]+|::|\W)", re.DOTALL)
CLAUSES = {"select", "insert", "update", "delete", "from", "where", "join", "left join", "cross join", "order", "limit", "returning", "values",
           "set", "union", "for", "offset", "on conflict"}
PART = re.compile(r"case when (?:(?! end).){1,200} end\S*|\S.*?(?:(?<=,)(?= )|(?= (?:and|or|case|when) )|$)")
BLOCKS = {"select", "insert", "update", "delete", "with"}
# A word before one of these, after which no clause begins: "is distinct from", "delete from", "for no key update", "left join".
JOINED = {"from": {"distinct", "delete"}, "update": {"key", "do"}, "set": {"update"}, "join": {"left", "cross"}, "insert": {"as"}}


def tokens(sql):
    """(space before it, token, length of the parenthesis that it opens)"""
    found = [(bool(space), token) for space, token in TOKEN.findall(sql.strip())]
    lengths, opened, at = {}, [], 0
    for n, (space, token) in enumerate(found):
        at += space + len(token)
        if token == "(":
            opened.append((n, at))
        elif token == ")":
            start, begun = opened.pop()
            lengths[start] = at - begun
    return [(space, token, lengths.get(n, 0)) for n, (space, token) in enumerate(found)]


def wrapped(indent, line):
    """The line in several, if it is long: broken after commas and before and, or, when; not in a short case."""
    lines, current = [], ""
    for part in PART.findall(line):
        if current and indent + len(current) + len(part) > WIDTH:
            lines.append(" " * indent + current)
            indent, current = indent + (0 if len(lines) > 1 else 4), part
        else:
            current = f"{current} {part}" if current else part
    return lines + [" " * indent + current]


def formatted(sql):
    """One clause a line; subqueries that are not short are indented."""
    lines, line, frames, previous = [], "", [], ""  # a frame: whether the open parenthesis is indented
    is_joined = False  # whether the line continues the last one, after the end of a subquery
    hanging = 0

    def end_line(indent=0):
        nonlocal line, is_joined, hanging
        if is_joined:
            lines[-1] += line.rstrip()
        elif line.strip():
            lines.extend(wrapped(4 * sum(frames) + hanging, line.strip()))
        line, is_joined, hanging = "", False, indent

    every = tokens(sql)
    for n, (space, token, length) in enumerate(every):
        is_block = not frames or frames[-1]
        phrase = f"{token} {every[n + 1][1]}" if n + 1 < len(every) else token
        if is_block and ({token, phrase} & CLAUSES and previous not in JOINED.get(token, ()) or previous == "all" and token == "("):
            end_line()
        elif is_joined and token in {"and", "or", "when"}:
            end_line(4)
        line += " " * space + token if line or is_joined else token
        if token == "(":
            first = every[n + 1][1]
            opens_block = length > 60 and (every[n + 2][1] if first == "(" else first) in BLOCKS
            if opens_block:
                end_line()
            frames.append(opens_block)
        elif token == ")" and frames.pop():
            frames.append(True)
            line = line[:-1].rstrip()
            end_line()
            frames.pop()
            lines[-1] += ")"
            is_joined = True
        elif token == "," and is_joined and line == ",":
            end_line()
        previous = token
    end_line()
    return "\n".join(lines)


def prepared(name, named, sql):
    """A statement for psql, after a comment that names its parameters."""
    if sql.startswith("create"):
        return f"-- {name}\n{sql}"
    found = dict.fromkeys(re.findall(r"(?<!\{)\{([\w.]+(?:\[\])?)\}", named))
    names = [name.removeprefix(".") for name in found if f"{name}[]" not in found]  # {actor} of a group is a column: {actor[]}
    comment = wrapped(0, ", ".join(f"${n} {name}" for n, name in enumerate(names, 1)))
    return "".join(f"-- {line.strip()}\n" for line in comment if line) + f"prepare {name} as\n{formatted(sql)};\n"


def texts(program):
    """The text for each resource."""
    parts = iter(subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout.split("\0")[:-1])
    made = {}
    for resource, name, named, sql in zip(parts, parts, parts, parts):
        made.setdefault(resource, ["-- SPDX-License-Identifier: Apache-2.0\n-- Generated: `make golden` writes this file.\n"])
        made[resource].append(prepared(f"{resource}_{name}", named, sql))
    return {resource: "\n".join(statements) for resource, statements in made.items()}


def temporary_tables():
    """The statements that create the temporary tables of imports."""
    tables = re.findall(r"create temp table \w+ \([^;]*\);", (FOLDER / "../../src/admin/import.sql").read_text())
    return "\n".join(table.replace("table", "table if not exists", 1) for table in tables)


def main(action, program, resource=""):
    made = texts(program)
    if action == "show":
        sys.exit(print(temporary_tables(), made[resource], sep="\n\n") if resource in made else f"RESOURCE must be one of {', '.join(made)}")
    if action == "write":
        for name, text in made.items():
            (FOLDER / f"{name}.sql").write_text(text)
        return
    stored = {path.stem: path.read_text() for path in FOLDER.glob("*.sql")}
    different = [line for name in sorted({*made, *stored}) for line in difflib.unified_diff(
        stored.get(name, "").splitlines(), made.get(name, "").splitlines(), f"tests/golden/{name}.sql", "generated", lineterm="")]
    print(*different, sep="\n", end="\n" if different else "")
    sys.exit("The generated SQL has changed. If it should have, `make golden` stores it." if different else 0)


main(*sys.argv[1:])
