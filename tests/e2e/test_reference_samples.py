# SPDX-License-Identifier: Apache-2.0
"""Runs every sample of the reference: curl, Python, TypeScript, PHP and Go. Each language has one process where that is possible.
The commands of a page set the variables that its sample reads."""

import json
import re
import shlex

import pytest

from client import ok
from deployment import BUILD
from pages import page_of
from test_docs_samples import TOOLS, run, tools
from whatsapp import PHONE, meta, module_admin_factory, module_instance, org, provider  # fixtures among them

from callbacks import message, text
from meta import template

pytestmark = pytest.mark.unsanitized

CONF = "NeoAPIWhatsAppDownloads 2\nNeoAPIWebhookAllowAddress 127.0.0.0/8\n"
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(100)
FIRST = ("getMedia", "markConversationRead")  # they need the message that the contact sent last
GO_TIMEOUT_S = 300  # the first build compiles the standard library


@pytest.fixture
def examples(org):
    """The examples of each operation, in an organization that has what cannot be created by a request. Deletions are last, because
    others read what they delete."""
    org.meta.templates.append(template("visit_invitation", "Olá, {{1}}! Visita a {{2}}."))
    org.notify(text("Oi!", PHONE))
    org.notify(message("image", PHONE, content=org.meta.attach(JPEG, "image/jpeg")))
    methods = {one["operationId"]: method for item in org.api.description()["paths"].values() for method, one in item.items()
               if "operationId" in one}
    pages = {name: page_of(org.api, "docs/" + name) for name in methods}
    return {name: pages[name].examples for name in sorted(pages, key=lambda name: (methods[name] == "delete", name not in FIRST))
            if "samples" in pages[name].ids}


@pytest.fixture
def samples(examples):
    """samples(language): (operation, text)."""
    def pasted(language):
        found = [(operation, next(code for other, name, code in blocks if other == language and not name))
                 for operation, blocks in examples.items()]
        assert len(found) > 100
        return found
    return pasted


@pytest.fixture
def setups(examples):
    """The commands that set variables, by operation. Those that create are first, so that others find something."""
    found = {operation: code for operation, blocks in examples.items() for _, name, code in blocks if name == "setup"}
    return dict(sorted(found.items(), key=lambda one: "limit=1" in one[1]))


@pytest.fixture
def set_up(run, setups):
    """set_up(): {operation: its variables}, after all commands."""
    def start():
        names = {operation: re.findall(r"^export (\w+)=", code, re.M) for operation, code in setups.items()}
        printed = run("sh", "-euc", "\n".join(f"(\n{code}\nenv | sed -n 's/^\\({name}\\)=/{operation} \\1 /p'\n)"
                                              for operation, code in setups.items() for name in ["\\|".join(names[operation])]))
        found = {operation: {} for operation in names}
        for operation, name, value in (line.split() for line in printed.splitlines()):
            found[operation][name] = value
        assert {operation: set(variables) for operation, variables in found.items()} == {
            operation: set(variables) for operation, variables in names.items()}
        return found
    return start


def write(tmp_path, samples, name, change=lambda name, code: code):
    """Writes each sample into a file: name.format(operation). Returns the paths, relative to tmp_path."""
    for operation, code in samples:
        path = tmp_path / name.format(operation)
        path.parent.mkdir(exist_ok=True)
        path.write_text(change(operation, code) + "\n")
    return [name.format(operation) for operation, _ in samples]


def assert_made(org, rounds):
    """As many brokers as samples create and do not delete, and two messages."""
    assert len(ok(org.api.get("brokers?limit=100"))["items"]) == 1 + 9 * rounds
    assert len(ok(org.api.get("contracts?limit=100"))["items"]) > 5 * rounds
    assert len(org.meta.sends) == 2 * rounds


def test_curl(org, run, samples, setups, tmp_path):
    files = write(tmp_path, samples("sh"), "{}.sh", lambda operation, code: f"{setups.get(operation, '')}\n{code}")
    run("sh", "-euc", 'for sample; do sh -eu "$sample" >out 2>&1 || { echo "$sample"; cat out; exit 1; }; done', "sh", *files)
    assert_made(org, 1)


def test_python_twice(org, run, samples, set_up, tmp_path):
    for left_out in (None, "getMedia"):  # the last message is then one that was sent
        variables = set_up()
        pasted = [(name, code, variables.get(name, {})) for name, code in samples("python") if name != left_out]
        (tmp_path / "samples.json").write_text(json.dumps(pasted))
        run("/usr/bin/python3", "-B", "-c", "import json, os\nfor name, code, variables in json.load(open('samples.json')):\n"
                                            "    os.environ.update(variables)\n"
                                            "    exec(compile(code, name, 'exec'), {'__name__': '__main__'})")
    assert_made(org, 2)


def test_typescript(org, run, tools, samples, set_up, tmp_path):
    files, variables = write(tmp_path, samples("ts"), "{}.ts"), set_up()
    (tmp_path / "all.js").write_text("".join(
        f"Object.assign(process.env, {json.dumps(variables.get(operation, {}))});\nawait import('./{operation}.js');\n"
        for operation, _ in samples("ts")))
    config = json.loads((TOOLS / "story.json").read_text())
    (tmp_path / "tsconfig.json").write_text(json.dumps({**config, "files": [str(TOOLS / "node.d.ts"), *files]}))
    run("node_modules/.bin/tsc")
    run("node", "all.js")
    assert_made(org, 1)


def test_php(org, run, samples, set_up, tmp_path):
    files, variables = write(tmp_path, samples("php"), "{}.php"), set_up()
    commands = [shlex.join(["php_of", file, *(f"{name}={value}" for name, value in variables.get(file[:-4], {}).items())])
                for file in files]
    run("sh", "-euc", 'php_of() { file=$1; shift; env "$@" php -d "openssl.cafile=$CURL_CA_BUNDLE" -d error_reporting=-1 "$file" '
                      '>out 2>&1 || { echo "$file"; cat out; exit 1; }; }\n' + "\n".join(commands))
    assert_made(org, 1)


def test_go(org, run, samples, set_up, tmp_path):
    """As one program: each sample is a package, and `main` its function Run."""
    def package(operation, code):
        return code.replace("package main", f"package {operation}").replace("func main()", "func Run()")
    operations = [operation for operation, _ in samples("go")]
    write(tmp_path, samples("go"), "{}/sample.go", package)
    imports = "".join(f'\t"samples/{one}"\n' for one in operations)
    variables = set_up()
    calls = "".join(f"\tos.Setenv({json.dumps(name)}, {json.dumps(value)})\n" if name else f"\t{one}.Run()\n"
                    for one in operations for name, value in [*variables.get(one, {}).items(), (None, None)])
    (tmp_path / "main.go").write_text(f'package main\n\nimport (\n\t"os"\n{imports})\n\nfunc main() {{\n{calls}}}\n')
    (tmp_path / "go.mod").write_text("module samples\n\ngo 1.19\n")
    run("env", f"GOCACHE={BUILD}/go-cache", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local", "go", "build", "-o", "all", ".",
        timeout_s=GO_TIMEOUT_S)
    run("sh", "-euc", 'SSL_CERT_FILE=$CURL_CA_BUNDLE ./all >out')
    assert_made(org, 1)
