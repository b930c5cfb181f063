"""Who includes whom: a floor stands on those below it, and one third-party library lives in one room."""
import os
import re

import tree

FLOORS = {"core": 0, "model": 1, "store": 2, "service": 3, "delivery": 3, "httpd": 4, "ctl": 4}

# The library's name, its headers, and the only files that may include them.
LIBRARIES = (
    ("jansson", r"jansson\w*\.h", r"src/core/json\.c"),
    ("OpenSSL", r"openssl/.*", r"src/core/crypto\.c"),
    ("libpq", r"(postgresql/)?(libpq-fe|libpq-events|postgres_ext|pg_config\w*|libpq/.*)\.h", r"src/store/(pg\w*\.c|libpq\.h)"),
    ("libcurl", r"curl/.*", r"src/delivery/\w+\.c"),
    ("httpd", r"(httpd|(http|ap|mod|util)_\w+|mpm_common|scoreboard|unixd|heartbeat)\.h",
     r"(src|include)/httpd/\w+\.[ch]|mod_neoapi\.c"),
)
IN_ONE_FILE = "libcurl"

# The bare module that ours is measured against is no part of the house.
OUTSIDE = re.compile(r"tests/bench/")

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def floor_of(path):
    """The floor a file stands on; tests stand on the library, so just below the highest floor. None: there is no such floor."""
    if path.parts[0] in ("src", "include"):
        return path.parts[1] if len(path.parts) > 2 and path.parts[1] in FLOORS else None
    return "httpd" if str(path) == "mod_neoapi.c" else "tests"


def rank_of(floor):
    return FLOORS.get(floor, max(FLOORS.values()) - 1)


def own_header(root, path, name):
    """Where one of our headers lies that an #include names; None for somebody else's."""
    for folder in ("include", path.parent):
        candidate = os.path.normpath(os.path.join(folder, name))
        if (root / candidate).is_file():
            return type(path)(candidate)
    return None


def about_own(path, header):
    """What is wrong with including one of our headers, or None."""
    if header.parts[0] != "include":
        if header.parent != path.parent:
            return f"{header} is private to {header.parent}/"
        return None
    floor, other = floor_of(path), floor_of(header)
    if other is None:
        return f"{header} stands on no floor"
    if rank_of(other) > rank_of(floor):
        return f"{floor} must not include {header}: {other} is above it"
    if rank_of(other) == rank_of(floor) and other != floor and floor != "tests":
        return f"{floor} must not include {header}: {other} stands beside it"
    return None


def library_of(name):
    return next((library for library in LIBRARIES if re.fullmatch(library[1], name)), None)


def complaints_of(root, path, users):
    content = tree.text(root, path) or ""
    if floor_of(path) is None:
        yield f"{path}: lies on no floor; the floors are {', '.join(FLOORS)}"
        return
    for match in INCLUDE.finditer(content):
        name, place = match.group(1), f"{path}:{content.count(chr(10), 0, match.start(1)) + 1}"
        header, library = own_header(root, path, name), library_of(name)
        wrong = None
        if header:
            wrong = about_own(path, header)
        elif library:
            users.setdefault(library[0], set()).add(str(path))
            if not re.fullmatch(library[2], str(path)):
                wrong = f"<{name}> belongs to {library[0]}, which lives in {library[2].replace(chr(92), '')} alone"
        elif '"' in match.group(0):
            wrong = f'"{name}" is no header of include/ nor of this folder'
        if wrong:
            yield f"{place}: {wrong}"


def main():
    root = tree.root()
    paths = [p for p in tree.files(root, ".c", ".h") if not OUTSIDE.match(str(p))]
    users, wrong = {}, []
    for path in paths:
        wrong += complaints_of(root, path, users)
    if len(users.get(IN_ONE_FILE, ())) > 1:
        wrong.append(f"{IN_ONE_FILE} is included by {', '.join(sorted(users[IN_ONE_FILE]))}: it lives in one file")
    tree.report(wrong, f"{len(paths)} files on {len(FLOORS)} floors")


main()
