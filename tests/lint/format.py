# SPDX-License-Identifier: Apache-2.0
"""Checks files with formatters and linters: C, shell, Python, and the line ends of all files."""
import re
import subprocess

import tree

# Other files must not be indented with tabs; gofmt indents with them.
TABS = {"Makefile", "rules"}


def run(tool, *arguments, root):
    """The output of a tool as lines; one line if the tool is missing."""
    try:
        done = subprocess.run([tool, *arguments], cwd=root, capture_output=True, text=True)
    except FileNotFoundError:
        return [f"{tool} is not installed: run make deps"]
    said = (done.stdout + done.stderr).strip().splitlines()
    return said or [f"{tool} failed without a word"] if done.returncode else []


def clang_format(root, paths):
    said = run("clang-format", "--dry-run", "-Werror", "--ferror-limit=1", *paths, root=root) if paths else []
    wrong = sorted({line.split(": error:")[0] for line in said if ": error:" in line})
    fix = "not formatted as in .clang-format; fix it with: clang-format -i"
    return [f"{place}: {fix} {place.split(':')[0]}" for place in wrong] or said


def is_shell(root, path):
    return path.suffix == ".sh" or re.match(r"#!\s*/(usr/)?bin/(env )?(ba|da)?sh\b", tree.text(root, path) or "") is not None


def fixtures(root, paths):
    """The names of pytest's fixtures. pyflakes reports imported ones as unused, and as redefined by arguments."""
    pattern = r"^@pytest\.fixture.*\n(?:@.*\n)*def (\w+)"
    return {name for path in paths for name in re.findall(pattern, tree.text(root, path) or "", re.MULTILINE)}


def pyflakes(root, paths):
    said = run("/usr/bin/python3", "-B", "-m", "pyflakes", *paths, root=root) if paths else []
    names = "|".join(fixtures(root, paths)) or "-"
    harmless = re.compile(rf"'(\w+\.)*({names})' imported but unused|redefinition of unused '({names})'")
    return [line for line in said if not harmless.search(line)]


def whitespace(root, path):
    content = tree.text(root, path)
    if not content:
        return []
    wrong = [] if content.endswith("\n") else [f"{path}: the last line has no end"]
    for number, line in enumerate(content.split("\n"), 1):
        if line != line.rstrip():
            wrong.append(f"{path}:{number}: white space at the end of the line")
        if line.startswith("\t") and path.name not in TABS and path.suffix != ".go":
            wrong.append(f"{path}:{number}: a tab in front; spaces everywhere but in makefiles")
    return wrong


def main():
    root = tree.root()
    every = tree.files(root)
    c = [p for p in every if p.suffix in (".c", ".h")]
    shell = [p for p in every if is_shell(root, p)]
    python = [p for p in every if p.suffix == ".py"]
    wrong = clang_format(root, c)
    if shell:
        wrong += run("shellcheck", "--format=gcc", "--external-sources", *shell, root=root)
    wrong += pyflakes(root, python)
    for path in every:
        wrong += whitespace(root, path)
    tree.report(wrong, f"{len(c)} files of C, {len(shell)} of shell, {len(python)} of Python")


main()
