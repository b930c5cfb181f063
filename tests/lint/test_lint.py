# SPDX-License-Identifier: Apache-2.0
"""Tests the lint checks: each passes on a small project, and reports a defect that is added to it."""
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent

CHECKS = ("circles", "format", "formats", "guarantees", "layers", "licences", "sizes", "texts")
LICENCE = "SPDX-License-Identifier: Apache-2.0"

GUARANTEES = "| guarantee | test |\n|---|---|\n| Things are kept | {0} |\n\nText.\n"
COMPARISON = "# Compared\n\n| mod_neoapi | keeps things | {0} |\n| another | does not | A1 |\n"

FUNCTION = "int neo_{0}(void);\n\nint neo_{0}(void)\n{{\n{1}    return 0;\n}}\n"


def calls(name, call):
    """A file with a function that calls another one."""
    return FUNCTION.format(name, f"    (void){call};\n")


def long_function(lines):
    """A file with one function of `lines` lines."""
    return FUNCTION.format("long", "    neo_long();\n" * (lines - 4))


def long_file(lines):
    return "/* A remark. */\n" * lines


PROJECT = {
    "Makefile": "all:\n\techo all\n",
    "mod_neoapi.c": '#include <httpd.h>\n\n#include "httpd/config.h"\n',
    "README.md": "# A project\n\nInstall it with `make deps`.\n",
    "SECURITY.md": GUARANTEES.format("`test_thing.py`, `test_thing.py::test_thing`, `tests/run.sh`, `tests/unit/`"),
    "doc/webhooks-compared.md": COMPARISON.format("`test_thing.py::test_thing`"),
    "include/core/json.h": "/* Values. */\nint neo_json(void);\n",
    "include/schema/rules.h": '#include "core/json.h"\n',
    "include/pg/pg.h": '#include "core/json.h"\n',
    "include/resources/lead.h": '#include "schema/rules.h"\n',
    "include/jobs/jobs.h": '#include "pg/pg.h"\n',
    "include/api/service.h": '#include "pg/pg.h"\n',
    "include/webhooks/courier.h": '#include "pg/pg.h"\n',
    "include/httpd/config.h": '#include <http_config.h>\n\n#include "api/service.h"\n',
    "include/ctl/command.h": '#include "api/service.h"\n',
    "src/core/json.c": '#include "core/json.h"\n\n#include <jansson.h>\n',
    "src/core/crypto.c": "#include <openssl/evp.h>\n",
    "src/core/id.c": calls("id", "neo_own()"),
    "src/core/text.c": calls("text", "neo_id()"),
    "src/pg/pg.c": '#include "pg/pg.h"\n\n#include <libpq-events.h>\n#include <libpq-fe.h>\n',
    "src/webhooks/claim.c": '#include "webhooks/claim.sql.h"\n',
    "src/webhooks/claim.sql": "-- name: claim\nselect 1;\n",
    "src/api/call.h": '#include "api/service.h"\n',
    "src/api/service.c": '#include "call.h"\n',
    "src/webhooks/send.c": '#include <curl/curl.h>\n\n#include "webhooks/courier.h"\n',
    "src/httpd/config.c": '#include "httpd/config.h"\n\n#include <util_filter.h>\n',
    "src/ctl/main.c": FUNCTION.format("main", ""),
    "tests/bench/mod_bare.c": "#include <httpd.h>\n#include <libpq-fe.h>\n",
    "tests/unit/test_json.c": '#include "api/service.h"\n#include "core/json.h"\n',
    "tests/e2e/things.py": "import pytest\n\n\n@pytest.fixture\ndef thing():\n    return 1\n",
    "tests/e2e/test_thing.py": "from things import thing\n\n\ndef test_thing(thing):\n    assert thing == 1\n",
    "tests/run.sh": '#!/bin/sh\necho "$1"\n',
}

COMMENTS = {".c": f"/* {LICENCE} */\n", ".h": f"/* {LICENCE} */\n", ".py": f"# {LICENCE}\n", ".sql": f"-- {LICENCE}\n"}


def with_licence(path, content):
    first, line, rest = content.partition("\n")
    if first.startswith("#!"):
        return f"{first}\n# {LICENCE}\n{rest}"
    return COMMENTS.get(pathlib.PurePath(path).suffix, "") + content


PROJECT = {path: with_licence(path, content) for path, content in PROJECT.items()}

# The check, the file, its defective content, and the expected message.
DEFECTS = {
    "a function that calls one that calls its file": (
        "circles", "src/core/json.c", calls("json", "neo_id()") + FUNCTION.format("own", ""), "move one of these, or what both need, to a third file"),
    "a circle over three files": (
        "circles", "src/core/json.c", calls("json", "neo_text()") + FUNCTION.format("own", ""), "src/core/text.c needs neo_id of src/core/id.c"),
    "a function in a table of the file that it calls": (
        "circles", "src/core/json.c", "void *const neo_table[] = {neo_id};\n" + FUNCTION.format("own", ""), "a circle: "),
    "headers that include each other": ("circles", "include/core/json.h", '#include "schema/rules.h"\n', "include/core/json.h needs schema/rules.h"),
    "a length modifier that APR does not know": (
        "formats", "src/core/id.c", 'const char *f(void)\n{\n    return apr_psprintf(0, "%s%lld", g("("), 1LL);\n}\n', "src/core/id.c:3: %lld"),
    "a line that clang-format would change": ("format", "src/core/id.c", "int  x;\n", "clang-format -i src/core/id.c"),
    "a header that clang-format would change": ("format", "include/core/id.h", "int\tx;\n", "include/core/id.h:1"),
    "an unquoted variable in a script": ("format", "tests/start.sh", "#!/bin/sh\necho $1\n", "SC2086"),
    "an unquoted variable in a script without a suffix": ("format", ".ci/run", "#!/bin/sh\necho $1\n", ".ci/run:2"),
    "an import that is not used": ("format", "tests/e2e/test_x.py", "import os\n", "'os' imported but unused"),
    "a name that is not there": ("format", "tests/e2e/test_x.py", "print(nobody)\n", "undefined name 'nobody'"),
    "broken Python": ("format", "tests/e2e/test_x.py", "def f(:\n", "tests/e2e/test_x.py:1"),
    "white space at the end of a line": ("format", "README.md", "a \nb\n", "README.md:1: white space"),
    "a last line without an end": ("format", "README.md", "a\nb", "README.md: the last line"),
    "a tab in front": ("format", "conf/neoapi.conf", "<If>\n\tx\n</If>\n", "conf/neoapi.conf:2: a tab"),
    "a guarantee without a test": ("guarantees", "SECURITY.md", GUARANTEES.format("yes"), "SECURITY.md:3: the guarantee names no test"),
    "a guarantee whose test file is gone": (
        "guarantees", "SECURITY.md", GUARANTEES.format("`test_thing.py`, `test_gone.py`"), "SECURITY.md:3: there is no test test_gone.py"),
    "a guarantee whose test folder is gone": ("guarantees", "SECURITY.md", GUARANTEES.format("`tests/gone/`"), "no test tests/gone/"),
    "a guarantee whose test is gone": (
        "guarantees", "SECURITY.md", GUARANTEES.format("`test_thing.py::test_thin`"), "no test test_thing.py::test_thin"),
    "a guarantee whose file has no test": ("guarantees", "tests/e2e/test_thing.py", "x = 1\n", "there is no test test_thing.py"),
    "no table of guarantees": ("guarantees", "SECURITY.md", "# Security\n", "SECURITY.md: no table begins with"),
    "a line of the comparison without a test": (
        "guarantees", "doc/webhooks-compared.md", COMPARISON.format("yes"), "doc/webhooks-compared.md:3: the guarantee names no test"),
    "a line of the comparison whose test is gone": (
        "guarantees", "doc/webhooks-compared.md", COMPARISON.format("`test_gone.py`"), "doc/webhooks-compared.md:3: there is no test test_gone.py"),
    "no line of mod_neoapi in the comparison": (
        "guarantees", "doc/webhooks-compared.md", "# Compared\n", "doc/webhooks-compared.md: no line begins with"),
    "core includes schema": ("layers", "src/core/x.c", '#include "schema/rules.h"\n', "schema is a higher layer"),
    "schema includes resources": ("layers", "include/schema/x.h", '\n#include "resources/lead.h"\n', "include/schema/x.h:2: schema"),
    "pg includes api": ("layers", "src/pg/x.c", '#  include "api/service.h"\n', "api is a higher layer"),
    "api includes httpd": ("layers", "src/api/x.c", '#include "httpd/config.h"\n', "httpd is a higher layer"),
    "api includes jobs": ("layers", "src/api/x.c", '#include "jobs/jobs.h"\n', "jobs is the same layer"),
    "jobs includes api": ("layers", "src/jobs/x.c", '#include "api/service.h"\n', "api is the same layer"),
    "ctl includes httpd": ("layers", "src/ctl/x.c", '#include "httpd/config.h"\n', "httpd is the same layer"),
    "the module includes ctl": ("layers", "mod_neoapi.c", '#include "ctl/command.h"\n', "ctl is the same layer"),
    "a unit test includes httpd": ("layers", "tests/unit/test_x.c", '#include "httpd/config.h"\n', "httpd is a higher layer"),
    "one's own header in angle brackets": ("layers", "src/core/x.c", "#include <pg/pg.h>\n", "pg is a higher layer"),
    "a path with dots": ("layers", "src/core/x.c", '#include "../../include/pg/pg.h"\n', "pg is a higher layer"),
    "a layer that does not exist": ("layers", "src/attic/x.c", "int x;\n", "belongs to no layer"),
    "a header that does not exist": ("layers", "src/core/x.c", '#include "core/nothing.h"\n', "is neither in include/"),
    "statements that do not exist": ("layers", "src/webhooks/x.c", '#include "webhooks/x.sql.h"\n', "is neither in include/"),
    "statements of another file": ("layers", "src/webhooks/x.c", '#include "webhooks/claim.sql.h"\n', "is neither in include/"),
    "another layer's private header": ("layers", "src/httpd/x.c", '#include "../api/call.h"\n', "private to src/api/"),
    "a private header in a test": ("layers", "tests/unit/test_x.c", '#include "../../src/api/call.h"\n', "is private to"),
    "jansson outside json.c": ("layers", "src/schema/x.c", "#include <jansson.h>\n", "belongs to jansson"),
    "jansson in a header": ("layers", "include/core/json.h", "#include <jansson.h>\n", "belongs to jansson"),
    "OpenSSL outside crypto.c": ("layers", "src/core/x.c", "#include <openssl/sha.h>\n", "belongs to OpenSSL"),
    "libpq outside pg.c": ("layers", "src/ctl/x.c", "#include <libpq-fe.h>\n", "belongs to libpq"),
    "libpq in a unit test": ("layers", "tests/unit/test_x.c", "#include <libpq-fe.h>\n", "belongs to libpq"),
    "libcurl in a unit test": ("layers", "tests/unit/test_x.c", "#include <curl/curl.h>\n", "belongs to libcurl"),
    "libcurl outside webhooks": ("layers", "src/api/x.c", "#include <curl/curl.h>\n", "belongs to libcurl"),
    "httpd.h outside httpd": ("layers", "src/api/x.c", "#include <httpd.h>\n", "belongs to httpd"),
    "another header of httpd": ("layers", "src/ctl/x.c", '#include "http_log.h"\n', "belongs to httpd"),
    "mod_dbd.h in pg": ("layers", "src/pg/x.c", "#include <mod_dbd.h>\n", "belongs to httpd"),
    "a file without a licence": ("licences", "src/core/x.c", "int x;\n", "src/core/x.c:1: the first line"),
    "a script without a licence": ("licences", "tests/x.sh", "#!/bin/sh\n\n# SPDX\n", "tests/x.sh:1: the first line"),
    "a file that is too long": ("sizes", "src/core/x.c", long_file(501), "src/core/x.c: 501 lines; at most 500"),
    "a header that is too long": ("sizes", "include/core/x.h", long_file(501), "include/core/x.h: 501 lines"),
    "a module file that is too long": ("sizes", "mod_neoapi.c", long_file(250), "mod_neoapi.c: 250 lines; at most 249"),
    "a function that is too long": ("sizes", "src/core/x.c", long_function(46), "src/core/x.c:3: neo_long has 46 lines"),
    "a long function in a header": ("sizes", "include/core/x.h", long_function(46), "neo_long has 46 lines"),
    "a body that hides in a macro": ("sizes", "src/core/x.c", "BODY(\n{\n    x\n}\n)\n", "src/core/x.c:2: ctags sees"),
    "a note of what is to be done": ("texts", "src/core/x.c", "/* TO" "DO: think */\n", "src/core/x.c:1: a note of what is still"),
    "another note to oneself": ("texts", "README.md", "FIX" "ME\n", "README.md:1: a note"),
    "a third note to oneself": ("texts", "README.md", "XX" "X what now\n", "README.md:1: a note"),
    "a home folder": ("texts", "conf/x.conf", "Include /ho" "me/ana/x.conf\n", "conf/x.conf:1: a path of somebody's machine"),
    "a file of root": ("texts", "doc/x.md", "see `/ro" "ot/notes`\n", "doc/x.md:1: a path"),
    "a work folder": ("texts", "tests/x.py", 'x = "/wo" "rk"\nHERE = "/wo' 'rk/main"\n', "tests/x.py:2: a path"),
    "a registry in a lock file": ("texts", "package-lock.json", '"https://regis' 'try.npm' 'js.org/x"\n', "registry's host"),
    "a mirror": ("texts", "tests/x.sh", "curl http://mirror" ".example:8080/debian\n", "a package registry's host"),
}

# Content at the limits, or similar to what is forbidden.
HARMLESS = {
    "a function that is named in a comment": (
        "circles", "src/core/json.c", '/* See neo_id(). */\nconst char *neo_name = "neo_id";\n' + FUNCTION.format("own", "")),
    "a table of a file above": ("circles", "src/core/json.c", "extern void *const neo_table[];\n" + FUNCTION.format("own", "    neo_own();\n")),
    "a licence after the interpreter": ("licences", "tests/x.sh", f"#!/bin/sh\n# {LICENCE}\n"),
    "a text without a licence": ("licences", "doc/x.md", "# Title\n"),
    "a file of 500 lines": ("sizes", "src/core/x.c", long_file(500)),
    "a module file of 249 lines": ("sizes", "mod_neoapi.c", long_file(249)),
    "a function of 45 lines": ("sizes", "src/core/x.c", long_function(45)),
    "a name for mktemp": ("texts", "tests/x.sh", 'mktemp -d "${TMPDIR:-/tmp}/neoapi.XXXXXX"\n'),
    "a path in a path": ("texts", "tests/x.sh", 'ls "$dir/work" network/work /workers /rooted\n'),
    "an address that ends like a home": ("texts", "README.md", "https://example.com/ho" "me/page\n"),
    "a word in another case": ("texts", "README.md", "Registro de todo imóvel\n"),
    "bytes that are no text": ("texts", "doc/x.png", "\0/ro" "ot/x\n"),
    "a header of the same folder": ("layers", "src/api/list.c", '#include "call.h"\n#include <stdio.h>\n'),
    "a header of the system": ("layers", "src/core/x.c", "#include <apr_strings.h>\n#include <sys/types.h>\n"),
}


def build(root, files):
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)


def run(check, root):
    done = subprocess.run(["/usr/bin/python3", "-B", HERE / f"{check}.py", root], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def project(tmp_path):
    shutil.copy(HERE.parent.parent / ".clang-format", tmp_path)
    build(tmp_path, PROJECT)
    return tmp_path


@pytest.mark.parametrize("check", CHECKS)
def test_a_project_without_defects_passes(project, check):
    assert run(check, project)[0] == 0, run(check, project)[1]


@pytest.mark.parametrize("what", DEFECTS)
def test_a_defect_is_reported(project, what):
    check, path, content, message = DEFECTS[what]
    build(project, {path: content})
    status, said = run(check, project)
    assert status == 1
    assert message in said


@pytest.mark.parametrize("what", HARMLESS)
def test_harmless_code_passes(project, what):
    check, path, content = HARMLESS[what]
    build(project, {path: content})
    assert run(check, project) == (0, run(check, project)[1])


def check_all(root):
    done = subprocess.run(["sh", HERE / "check.sh", root, *CHECKS], capture_output=True, text=True, timeout=120)
    return done.returncode, [line for line in done.stdout.splitlines() if line.startswith("lint: ")]


def test_all_checks_run_and_print_a_line_after_a_failure(project):
    status, lines = check_all(project)
    assert status == 0
    assert [line.split(" (")[0] for line in lines] == [f"lint: {c}: ok" for c in CHECKS]
    build(project, {"src/core/x.c": '#include "pg/pg.h"\n'})
    status, lines = check_all(project)
    assert status == 1
    assert "lint: layers: failed" in lines and len(lines) == len(CHECKS)


def test_ignored_files_are_not_checked(project):
    build(project, {".gitignore": "made/\n", "made/x.c": '#include "nothing.h"\n', "src/core/y.c": "int y;\n"})
    subprocess.run(["git", "-C", project, "init", "-q"], check=True)
    assert run("layers", project)[0] == 0
    build(project, {"src/core/y.c": '#include "nothing.h"\n'})
    assert "src/core/y.c:1" in run("layers", project)[1]


MARKS = HERE.parents[1] / "src/schema/marks.awk"
ROW = '{.name = "a", .type = NEO_STRING, %s.doc = "\\"x}; y"}'


@pytest.mark.parametrize(("mark", "code"), [(".personal = NEO_NOT_PERSONAL, ", 0), ("", 1)])
def test_a_field_without_a_mark_stops_the_build(mark, code):
    table = "static const neo_field fields[] = {" + ROW % mark + ", {0}, };\n"
    done = subprocess.run(["awk", "-f", MARKS], input=table, text=True, capture_output=True, check=False)
    assert done.returncode == code
    assert ("the field" in done.stderr) == bool(code)
