# SPDX-License-Identifier: Apache-2.0
"""Writes the list of components of the package or of the image, as SPDX 2.3 and CycloneDX 1.5:
sbom.py package|image ROOT MODULE.deb OUT EPOCH

ROOT is the system that the package was built on, or the root directory of the image. Of a package the components are those of the
libraries that its programs link, directly or through others; of an image all its packages. OUT
becomes OUT.spdx.json and OUT.cyclonedx.json. The same input makes the same bytes."""
import datetime
import functools
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import uuid

MODULE = "libapache2-mod-neoapi"
NAMESPACE = "https://mod-neoapi.example/sbom/"

# Debian's short names of licences that differ from SPDX's.
SPDX = {
    "expat": "MIT", "bsd2": "BSD-2-Clause", "bsd3": "BSD-3-Clause", "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause", "bsd-4-clause": "BSD-4-Clause",
    "apache-2.0": "Apache-2.0", "apache-2": "Apache-2.0", "isc": "ISC", "zlib": "Zlib", "mit": "MIT", "curl": "curl", "x11": "X11", "postgresql": "PostgreSQL",
    "bsl-1.0": "BSL-1.0", "mpl-2.0": "MPL-2.0", "cc0-1.0": "CC0-1.0", "unicode-data-files": "Unicode-DFS-2016",
    **{f"{name}-{number}": f"{name.upper()}-{number if '.' in number else number + '.0'}-only"
       for name in ("gpl", "lgpl") for number in ("1", "2", "2.0", "2.1", "3", "3.0")},
    **{f"{name}-{number}+": f"{name.upper()}-{number if '.' in number else number + '.0'}-or-later"
       for name in ("gpl", "lgpl") for number in ("1", "2", "2.0", "2.1", "3", "3.0")},
}


def licence_name(word):
    return SPDX.get(word.lower(), "LicenseRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", word).strip("-"))


def licence_terms(line):
    """What all applies by a License field of Debian's: SPDX's names, or Debian's short ones as LicenseRef; a choice of them in parentheses.
    "and" binds tighter than "or", unless a comma precedes it."""
    terms = set()
    for part in re.split(r", ?(?:and )?", re.sub(r",? (?:and/or|or) |\|", " or ", line)):
        choices = [sorted(licence_name(word.strip(" ()")) for word in choice.split(" and ") if word.strip(" ()")) for choice in part.split(" or ")]
        choices = sorted({" AND ".join(names) for names in choices if names})
        terms |= {f"({' OR '.join(choices)})"} if len(choices) > 1 else set("".join(choices).split(" AND ")) - {""}
    return terms


def declared_terms(copyright):
    """The terms of all files by a machine-readable copyright file. Paragraphs without Files have the texts of licences."""
    files = [part for part in re.split(r"\n\s*\n", copyright) if re.search(r"^Files:", part, re.M)]
    return set().union(*map(licence_terms, re.findall(r"^License: *(.+)$", "\n".join(files), re.M)))


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode()


def paragraph(text):
    """A control file's fields; of one with several lines the first."""
    return dict(re.findall(r"^([A-Za-z-]+): *(.*)$", text, re.M))


class System:
    """A root directory with dpkg's database, or with the image's status.d. `owners` are the packages of the libraries of an architecture."""

    def __init__(self, root, architecture):
        self.root, self.packages, self.owners = root, {}, {}
        self.architectures = (architecture, "all")
        self.triplet = output("dpkg-architecture", "-a", architecture, "-q", "DEB_HOST_MULTIARCH").strip()
        dpkg = root / "var/lib/dpkg"
        if (dpkg / "status.d").is_dir():
            for file in sorted(dpkg.glob("status.d/*.md5sums")):
                self._add(paragraph(file.with_suffix("").read_text()), [line.split("  ", 1)[1] for line in file.read_text().splitlines()])
            return
        for text in (dpkg / "status").read_text().split("\n\n"):
            fields = paragraph(text)
            if fields.get("Status", "").endswith(" installed"):
                lists = [dpkg / f"info/{name}.list" for name in (f"{fields['Package']}:{fields['Architecture']}", fields["Package"])]
                self._add(fields, next((file.read_text().splitlines() for file in lists if file.exists()), []))

    def _add(self, fields, paths):
        if fields["Architecture"] in self.architectures:
            self.packages[fields["Package"]] = fields
            self.owners.update((pathlib.PurePath(path).name, fields["Package"]) for path in paths
                               if pathlib.PurePath(path).parent.name == self.triplet and ".so" in path)

    def paths(self, library):
        return [path for folder in ("usr/lib", "lib") for path in self.root.glob(f"{folder}/{self.triplet}/{library}")]

    def owner(self, library):
        """The package of a library that programs link by this name, which can be a link to it."""
        names = [library, *(path.resolve().name for path in self.paths(library))]
        return next((self.owners[name] for name in names if name in self.owners), None)

    @functools.lru_cache(maxsize=None)
    def linked(self, package):
        """The packages of the libraries that the libraries of a package link."""
        paths = [path for name, owner in self.owners.items() if owner == package for path in self.paths(name)]
        return owners(self, paths) - {package}

    def licences(self, package):
        """Empty if the copyright file is not machine-readable."""
        file = self.root / f"usr/share/doc/{package}/copyright"
        text = file.read_text(errors="replace") if file.exists() else ""
        if not re.match(r"\s*Format(-Specification)?:", text):
            return set()
        return declared_terms(text)


def needed(path):
    if path.is_symlink() or not path.is_file() or path.read_bytes()[:4] != b"\x7fELF":
        return []
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-d", str(path)))


def owners(system, paths):
    return {system.owner(name) for path in paths for name in needed(path)} - {None}


def closure(system, packages):
    found, rest = set(), set(packages)
    while rest:
        found |= rest
        rest = set().union(*map(system.linked, rest)) - found
    return found


def purl(fields):
    """`upstream` is the source package, whose version is added if it is another one: Debian's advisories are about sources."""
    name, _, version = fields.get("Source", fields["Package"]).partition(" ")
    upstream = "" if name == fields["Package"] and not version else f"&upstream={name}{version and '%40' + version.strip('()')}"
    return f"pkg:deb/debian/{fields['Package']}@{fields['Version']}?arch={fields['Architecture']}{upstream}".replace("+", "%2B")


def component(system, name):
    fields = system.packages[name]
    return {"name": name, "version": fields["Version"], "purl": purl(fields), "supplier": fields.get("Maintainer", ""),
            "licences": sorted(system.licences(name))}


class Bill:
    """The subject, the module's package in it, and the other components; `links` are pairs of names."""

    def __init__(self, kind, system, deb, epoch):
        self.created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        fields = paragraph(output("dpkg-deb", "-f", str(deb)))
        self.module = {"name": MODULE, "version": fields["Version"], "purl": purl(fields), "supplier": fields["Maintainer"],
                       "licences": ["Apache-2.0"], "sha256": hashlib.sha256(deb.read_bytes()).hexdigest()}
        with tempfile.TemporaryDirectory() as place:
            subprocess.run(["dpkg-deb", "-x", deb, place], check=True)
            direct = owners(system, pathlib.Path(place).rglob("*"))
        names = set(system.packages) - {MODULE} if kind == "image" else closure(system, direct)
        self.components = [component(system, name) for name in sorted(names)]
        self.links = [(MODULE, name) for name in sorted(direct)] + [
            (name, other) for name in sorted(names) for other in sorted(system.linked(name))]
        self.subject = {**self.module, "name": "mod-neoapi", "purl": f"pkg:oci/mod-neoapi@{fields['Version']}"} if kind == "image" \
            else self.module
        self.kind = kind

    def parts(self):
        return ([self.module] if self.kind == "image" else []) + self.components


def spdx_id(part):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", part if isinstance(part, str) else part["name"])


def as_spdx(bill):
    def package(part):
        entry = {"SPDXID": spdx_id(part), "name": part["name"], "versionInfo": part["version"], "downloadLocation": "NOASSERTION",
                 "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION",
                 "licenseDeclared": " AND ".join(part["licences"]) or "NOASSERTION",
                 "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": part["purl"]}]}
        if part["supplier"]:
            entry["supplier"] = "Organization: " + part["supplier"]
        if "sha256" in part and part is bill.module:
            entry["checksums"] = [{"algorithm": "SHA256", "checksumValue": part["sha256"]}]
        return entry

    def relation(one, kind, other):
        return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}

    parts = [bill.subject, *bill.parts()]
    holder = spdx_id(bill.subject)
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", holder)]
    if bill.kind == "image":
        relations += [relation(holder, "CONTAINS", spdx_id(part)) for part in [bill.module, *bill.components]]
    relations += [relation(spdx_id(one), "DYNAMIC_LINK", spdx_id(other)) for one, other in bill.links]
    refs = sorted({name for part in parts for term in part["licences"] for name in re.findall(r"LicenseRef-[A-Za-z0-9.-]+", term)})
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{bill.subject['name']} {bill.subject['version']}",
        "creationInfo": {"created": bill.created, "creators": ["Tool: mod_neoapi-sbom"]},
        "packages": [package(part) for part in parts],
        "hasExtractedLicensingInfos": [{"licenseId": name, "name": name.removeprefix("LicenseRef-"), "extractedText":
                                        "See /usr/share/doc/PACKAGE/copyright of the packages that declare it."} for name in refs],
        "relationships": relations}
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    return {**document, "documentNamespace": NAMESPACE + digest}


def as_cyclonedx(bill):
    def entry(part, kind="library"):
        made = {"type": kind, "bom-ref": part["purl"], "name": part["name"], "version": part["version"], "purl": part["purl"]}
        if part["licences"]:
            made["licenses"] = [{"expression": " AND ".join(part["licences"])}]
        if part["supplier"]:
            made["supplier"] = {"name": part["supplier"]}
        if "sha256" in part and part is bill.module:
            made["hashes"] = [{"alg": "SHA-256", "content": part["sha256"]}]
        return made

    refs = {part["name"]: part["purl"] for part in [bill.module, *bill.parts()]}
    depends = {}
    for one, other in bill.links:
        depends.setdefault(refs[one], []).append(refs[other])
    if bill.kind == "image":
        depends[bill.subject["purl"]] = [part["purl"] for part in [bill.module, *bill.components]]
    document = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"timestamp": bill.created, "component": entry(bill.subject, "container" if bill.kind == "image" else "application")},
        "components": [entry(part) for part in bill.parts()],
        "dependencies": [{"ref": ref, "dependsOn": sorted(others)} for ref, others in sorted(depends.items())]}
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    return {"$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json", "serialNumber": f"urn:uuid:{serial}", **document}


def main():
    kind, (root, deb), out, epoch = sys.argv[1], map(pathlib.Path, sys.argv[2:4]), sys.argv[4], int(sys.argv[5])
    system = System(root, output("dpkg-deb", "-f", str(deb), "Architecture").strip())
    bill = Bill(kind, system, deb, epoch)
    for name, document in (("spdx", as_spdx(bill)), ("cyclonedx", as_cyclonedx(bill))):
        pathlib.Path(f"{out}.{name}.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
