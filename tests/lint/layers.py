# SPDX-License-Identifier: Apache-2.0
"""Checks includes: a layer uses only lower layers, and only the listed files include a third-party library."""
import os
import re

import tree

LAYERS = {"core": 0, "pg": 1, "schema": 1, "resources": 2, "docs": 3, "openapi": 3, "sql": 3, "whatsapp": 4, "webhooks": 5,
          "admin": 6, "api": 6, "jobs": 6, "status": 7, "httpd": 8, "ctl": 8}

# The library's name, its headers, and the only files that may include them.
LIBRARIES = (
    ("jansson", r"jansson\w*\.h", r"src/core/json(_read)?\.c"),
    ("zlib", r"zlib\.h", r"src/core/encode\.c"),
    ("libyaml", r"yaml\.h", r"src/openapi/yaml\.c"),
    ("OpenSSL", r"openssl/.*", r"src/core/crypto\.c"),
    ("libpq", r"(postgresql/)?(libpq-fe|libpq-events|postgres_ext|pg_config\w*|libpq/.*)\.h", r"src/pg/\w+\.[ch]"),
    ("libcurl", r"curl/.*", r"src/webhooks/\w+\.[ch]|tests/fuzz/url\.c"),
    ("httpd", r"(httpd|(http|ap|mod|util)_\w+|mpm_common|scoreboard|unixd|heartbeat)\.h",
     r"(src|include)/httpd/\w+\.[ch]|mod_neoapi\.c"),
)

# The bare module that ours is measured against has no layer.
OUTSIDE = re.compile(r"tests/bench/")

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def find_layer(path):
    """The layer of a file, or None if there is no such layer. Tests use the library; the fuzzers also parts of neoapictl."""
    if path.parts[0] in ("src", "include"):
        return path.parts[1] if len(path.parts) > 2 and path.parts[1] in LAYERS else None
    if path.parent.name == "fuzz":
        return "ctl"
    return "httpd" if str(path) == "mod_neoapi.c" else "tests"


def find_rank(layer):
    return LAYERS.get(layer, max(LAYERS.values()) - 1)


def own_header(root, path, name):
    """The path of the header of ours that an #include names, or None for any other."""
    for folder in ("include", path.parent):
        candidate = os.path.normpath(os.path.join(folder, name))
        if (root / candidate).is_file():
            return type(path)(candidate)
    return None


def check_own(path, header):
    """What is wrong with including this header of ours, or None."""
    if header.parts[0] != "include":
        if header.parent != path.parent and not header.parts[0] == path.parts[0] == "tests":
            return f"{header} is private to {header.parent}/"
        return None
    layer, other = find_layer(path), find_layer(header)
    if other is None:
        return f"{header} belongs to no layer"
    if find_rank(other) > find_rank(layer):
        return f"{layer} must not include {header}: {other} is a higher layer"
    if find_rank(other) == find_rank(layer) and other != layer and layer != "tests":
        return f"{layer} must not include {header}: {other} is the same layer"
    return None


def is_statements(root, path, name):
    """Whether an #include names the statements that the Makefile embeds from the .sql file beside the source."""
    return name == f"{path.parent.name}/{path.stem}.sql.h" and (root / path.with_suffix(".sql")).is_file()


def find_library(name):
    return next((library for library in LIBRARIES if re.fullmatch(library[1], name)), None)


def find_complaints(root, path):
    content = tree.text(root, path) or ""
    if find_layer(path) is None:
        yield f"{path}: belongs to no layer; the layers are {', '.join(LAYERS)}"
        return
    for match in INCLUDE.finditer(content):
        name, place = match.group(1), f"{path}:{content.count(chr(10), 0, match.start(1)) + 1}"
        header, library = own_header(root, path, name), find_library(name)
        wrong = None
        if header:
            wrong = check_own(path, header)
        elif library:
            if not re.fullmatch(library[2], str(path)):
                wrong = f"<{name}> belongs to {library[0]}: only {library[2].replace(chr(92), '')} may include it"
        elif '"' in match.group(0) and not is_statements(root, path, name):
            wrong = f'"{name}" is neither in include/ nor in this folder'
        if wrong:
            yield f"{place}: {wrong}"


def main():
    root = tree.root()
    paths = [p for p in tree.files(root, ".c", ".h") if not OUTSIDE.match(str(p))]
    wrong = []
    for path in paths:
        wrong += find_complaints(root, path)
    tree.report(wrong, f"{len(paths)} files in {len(LAYERS)} layers")


main()
