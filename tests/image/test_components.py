# SPDX-License-Identifier: Apache-2.0
"""The lists of components of the package and the image, compared with what the dynamic linker and dpkg say, and with their schemas."""

import hashlib
import json
import os
import pathlib
import re
import subprocess

import jsonschema
import pytest
from container import run
from tools import install_tools

IMAGE, PACKAGE = (pathlib.Path(os.environ[name]) for name in ("NEOAPI_IMAGE", "NEOAPI_PACKAGE"))
MODULE = "libapache2-mod-neoapi"


def read(place, format):
    return json.loads((place / f"mod-neoapi.{format}.json").read_text())


def versions(place):
    """What both formats list: names and versions. They must be equal."""
    spdx, cyclonedx = read(place, "spdx"), read(place, "cyclonedx")
    subject = cyclonedx["metadata"]["component"]
    listed = {part["name"]: part["versionInfo"] for part in spdx["packages"]}
    assert listed == {part["name"]: part["version"] for part in [subject, *cyclonedx["components"]]}
    assert len(listed) == len(spdx["packages"])
    return {name: version for name, version in listed.items() if name != subject["name"]}


def reachable(place):
    """The packages that the module links, directly or not, by the dependencies of both formats."""
    def follow(edges):
        found, rest = set(), {MODULE}
        while rest:
            found |= rest
            rest = set().union(*(edges.get(one, set()) for one in rest)) - found
        return found - {MODULE}

    spdx, cyclonedx = read(place, "spdx"), read(place, "cyclonedx")
    names = {part["SPDXID"]: part["name"] for part in spdx["packages"]}
    names.update((part["bom-ref"], part["name"]) for part in [cyclonedx["metadata"]["component"], *cyclonedx["components"]])
    one, other = {}, {}
    for relation in spdx["relationships"]:
        if relation["relationshipType"] == "DYNAMIC_LINK":
            one.setdefault(names[relation["spdxElementId"]], set()).add(names[relation["relatedSpdxElement"]])
    for row in cyclonedx["dependencies"]:
        other.setdefault(names[row["ref"]], set()).update(names[ref] for ref in row["dependsOn"])
    assert follow(one) == follow(other)
    return follow(one)


def files_of_packages(root):
    """The owner of each file of the image, by its real path."""
    owners = {}
    for sums in (root / "var/lib/dpkg/status.d").glob("*.md5sums"):
        for line in sums.read_text().splitlines():
            digest, path = line.split("  ", 1)
            assert hashlib.md5((root / path).read_bytes()).hexdigest() == digest, path
            owners[(root / path).resolve()] = sums.stem
    return owners


def test_the_image_has_the_packages_that_are_listed_and_no_others():
    root = IMAGE / "root"
    folder = root / "var/lib/dpkg/status.d"
    installed = {name.stem: re.search(r"^Version: (.*)$", name.with_suffix("").read_text(), re.M)[1] for name in folder.glob("*.md5sums")}
    assert versions(IMAGE) == installed and MODULE in installed and "libc6" in installed


def test_every_file_belongs_to_a_listed_package():
    """Except the few that are made: users, authorities, folders."""
    root = IMAGE / "root"
    owners = files_of_packages(root)
    others = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and not path.is_symlink() and path.resolve() not in owners}
    assert {name for name in others if not name.startswith("var/lib/dpkg/status.d/")} == {
        "etc/passwd", "etc/group", "etc/nsswitch.conf", "etc/ssl/certs/ca-certificates.crt"}


def loaded(root, *programs):
    loader = next(path for path in root.rglob("ld-linux-*") if path.is_file())
    for program in programs:
        said = run("chroot", root, "/" + str(loader.relative_to(root)), "--list", program)
        yield from (root / path.lstrip("/") for path in re.findall(r"=> (/\S+)", said))


def test_the_links_of_the_image_are_those_of_its_dynamic_linker():
    root = IMAGE / "root"
    owners = files_of_packages(root)
    programs = ("/usr/lib/apache2/modules/mod_neoapi.so", "/usr/bin/neoapictl")
    assert {owners[path.resolve()] for path in loaded(root, *programs)} == reachable(IMAGE) - {"libaprutil1-dbd-pgsql"}


def test_the_components_of_the_package_are_what_ldd_and_dpkg_say(tmp_path):
    deb, = PACKAGE.glob(f"{MODULE}_*.deb")
    run("dpkg-deb", "-x", deb, tmp_path)
    said = "".join(run("ldd", tmp_path / name) for name in ("usr/lib/apache2/modules/mod_neoapi.so", "usr/bin/neoapictl"))
    packages = set()
    for path in set(re.findall(r"=> (/\S+)", said)):
        places = [path, path.removeprefix("/usr"), os.path.realpath(path), os.path.realpath(path).removeprefix("/usr")]
        found = subprocess.run(["dpkg", "-S", *places], capture_output=True, text=True).stdout
        packages.add(found.split(":")[0])
    listed = versions(PACKAGE)
    assert set(listed) == packages == reachable(PACKAGE)
    for name in packages:
        version = run("dpkg-query", "-W", "-f", "${Version}\n", name).splitlines()[0]
        assert listed[name] == version
    main = next(part for part in read(PACKAGE, "spdx")["packages"] if part["name"] == MODULE)
    assert main["checksums"][0]["checksumValue"] == hashlib.sha256(deb.read_bytes()).hexdigest()


def test_most_components_declare_a_licence():
    """Of the others the copyright file is not machine-readable."""
    parts = read(IMAGE, "spdx")["packages"]
    assert sum(part["licenseDeclared"] == "NOASSERTION" for part in parts) < len(parts) / 2


@pytest.mark.parametrize("place", [PACKAGE, IMAGE], ids=["package", "image"])
def test_the_documents_are_valid(place):
    tools = install_tools()
    schemas = {file.name: json.loads(file.read_text()) for file in (tools / "node_modules/@cyclonedx/cyclonedx-library/res/schema").glob("*.json")}
    schema = schemas["bom-1.5.SNAPSHOT.schema.json"]
    base = schema["$id"].rsplit("/", 1)[0]
    resolver = jsonschema.RefResolver(schema["$id"], schema, store={f"{base}/{name}": one for name, one in schemas.items()})
    jsonschema.Draft7Validator(schema, resolver=resolver).validate(read(place, "cyclonedx"))
    spdx = read(place, "spdx")
    ids = {"SPDXRef-DOCUMENT", *(part["SPDXID"] for part in spdx["packages"])}
    assert len(ids) == len(spdx["packages"]) + 1 and all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", one) for one in ids)
    assert all({row["spdxElementId"], row["relatedSpdxElement"]} <= ids for row in spdx["relationships"])


def test_the_provenance_names_commit_command_and_results():
    for place, name in ((PACKAGE, f"{MODULE}_*.deb"), (IMAGE, "mod-neoapi.tar")):
        statement = json.loads((place / "provenance.json").read_text())
        file, = place.glob(name)
        subjects = {one["name"]: one["digest"]["sha256"] for one in statement["subject"]}
        assert subjects[file.name] == hashlib.sha256(file.read_bytes()).hexdigest()
        definition = statement["predicate"]["buildDefinition"]
        assert definition["externalParameters"]["command"].startswith("make ")
        assert re.fullmatch(r"[0-9a-f]{40}", definition["resolvedDependencies"][0]["digest"]["gitCommit"])
