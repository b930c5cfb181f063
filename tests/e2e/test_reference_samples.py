# SPDX-License-Identifier: Apache-2.0
"""Runs every sample of the reference: curl, Python, TypeScript, PHP and Go. Each language has one process where that is possible."""

import json

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
def samples(org):
    """samples(language): (operation, text), in an organization that has what cannot be created by a request."""
    org.meta.templates.append(template("visit_invitation", "Olá, {{1}}! Visita a {{2}}."))
    org.notify(text("Oi!", PHONE))
    org.notify(message("image", PHONE, content=org.meta.attach(JPEG, "image/jpeg")))
    operations = [one["operationId"] for item in org.api.description()["paths"].values() for one in item.values()
                  if "operationId" in one and "samples" in page_of(org.api, "docs/" + one["operationId"]).ids]
    operations.sort(key=lambda name: name not in FIRST)

    def pasted(language):
        found = [(name, next(code for other, _, code in page_of(org.api, "docs/" + name).examples if other == language))
                 for name in operations]
        assert len(found) > 100
        return found
    return pasted


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


def test_curl(org, run, samples, tmp_path):
    files = write(tmp_path, samples("sh"), "{}.sh")
    run("sh", "-euc", 'for sample; do sh -eu "$sample" >out 2>&1 || { echo "$sample"; cat out; exit 1; }; done', "sh", *files)
    assert_made(org, 1)


def test_python_twice(org, run, samples, tmp_path):
    first = samples("python")
    again = [(name, code) for name, code in first if name != "getMedia"]  # the last message is then one that was sent
    (tmp_path / "samples.json").write_text(json.dumps(first + again))
    run("/usr/bin/python3", "-B", "-c", "import json\nfor name, code in json.load(open('samples.json')):\n"
                                        "    exec(compile(code, name, 'exec'), {'__name__': '__main__'})")
    assert_made(org, 2)


def test_typescript(org, run, tools, samples, tmp_path):
    files = write(tmp_path, samples("ts"), "{}.ts")
    (tmp_path / "all.js").write_text("".join(f"await import('./{file[:-2]}js');\n" for file in files))
    config = json.loads((TOOLS / "story.json").read_text())
    (tmp_path / "tsconfig.json").write_text(json.dumps({**config, "files": [str(TOOLS / "node.d.ts"), *files]}))
    run("node_modules/.bin/tsc")
    run("node", "all.js")
    assert_made(org, 1)


def test_php(org, run, samples, tmp_path):
    files = write(tmp_path, samples("php"), "{}.php")
    run("sh", "-euc", 'for sample; do php -d "openssl.cafile=$CURL_CA_BUNDLE" -d error_reporting=-1 "$sample" >out 2>&1 || '
                      '{ echo "$sample"; cat out; exit 1; }; done', "sh", *files)
    assert_made(org, 1)


def test_go(org, run, samples, tmp_path):
    """As one program: each sample is a package, and `main` its function Run."""
    def package(operation, code):
        return code.replace("package main", f"package {operation}").replace("func main()", "func Run()")
    operations = [operation for operation, _ in samples("go")]
    write(tmp_path, samples("go"), "{}/sample.go", package)
    imports = "".join(f'\t"samples/{one}"\n' for one in operations)
    calls = "".join(f"\t{one}.Run()\n" for one in operations)
    (tmp_path / "main.go").write_text(f"package main\n\nimport (\n{imports})\n\nfunc main() {{\n{calls}}}\n")
    (tmp_path / "go.mod").write_text("module samples\n\ngo 1.19\n")
    run("env", f"GOCACHE={BUILD}/go-cache", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local", "go", "build", "-o", "all", ".",
        timeout_s=GO_TIMEOUT_S)
    run("sh", "-euc", 'SSL_CERT_FILE=$CURL_CA_BUNDLE ./all >out')
    assert_made(org, 1)
