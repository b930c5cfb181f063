# SPDX-License-Identifier: Apache-2.0
"""Compares what the package needs with Debian's security tracker: advisories.py TRACKER RELEASE PACKAGE

TRACKER is a copy of the tracker's data (https://security-tracker.debian.org/tracker/data/json). PACKAGE is an SBOM (CycloneDX or SPDX, as
JSON), or a .deb, whose dependencies have the versions that are installed here. Fails if Debian has corrected a vulnerability in a newer
version than the one found; vulnerabilities without a correction are listed, because only Debian can correct them.
"""
import json
import re
import subprocess
import sys
import urllib.parse

FIELDS = "${db:Status-Status}\t${Package}\t${source:Package}\t${source:Version}\t${Pre-Depends}, ${Depends}\t${Provides}\n"


def installed_packages():
    """The installed packages, also by the names that they provide: (source, its version, names of dependencies)."""
    done = subprocess.run(["dpkg-query", "-W", "-f", FIELDS], capture_output=True, text=True, check=True)
    found = {}
    for status, name, source, version, depends, provides in (line.split("\t") for line in done.stdout.splitlines()):
        if status != "installed":  # such as removed, with configuration files left
            continue
        for known_as in [name, *dependency_names(provides)]:
            found[known_as] = (source, version, dependency_names(depends))
    return found


def dependency_names(depends):
    """The names in a Depends field, alternatives included."""
    return re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9.+-]+)", depends)


def sources_of_deb(path, installed):
    """The sources that a .deb depends on, directly and indirectly: {source: version}."""
    field = subprocess.run(["dpkg-deb", "-f", path, "Depends"], capture_output=True, text=True, check=True).stdout
    waiting, seen = dependency_names(field), set()
    missing = sorted(set(waiting) - set(installed))
    while waiting:
        name = waiting.pop()
        if name in installed and name not in seen:
            seen.add(name)
            waiting += installed[name][2]
    if missing:
        print(f"not installed, so not checked: {', '.join(missing)}")
    return {installed[name][0]: installed[name][1] for name in seen}


def strings(value):
    """All strings in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for member in value.values() if isinstance(value, dict) else value:
            yield from strings(member)


def sources_of_sbom(document):
    """The sources in an SBOM, by the package URLs in it: {source: version}. `upstream` is the source, if it has another name or version."""
    found = {}
    for url in strings(document):
        match = re.fullmatch(r"pkg:deb/debian/([^@?#]+)@([^?#]+)(?:\?([^#]*))?(?:#.*)?", url)
        if not match:
            continue
        name, version = urllib.parse.unquote(match[1]), urllib.parse.unquote(match[2])
        qualifiers = dict(urllib.parse.parse_qsl(match[3] or ""))
        source, _, of_source = qualifiers.get("upstream", name).partition("@")
        found[source] = of_source or re.sub(r"\+b[0-9]+$", "", version)  # Debian's rebuilds of a source
    return found


def is_older(version, than):
    return subprocess.run(["dpkg", "--compare-versions", version, "lt", than], check=False).returncode == 0


def find_advisories(tracker, release, sources):
    """(source, version, id, version with the correction or None) of each vulnerability."""
    for source, version in sorted(sources.items()):
        for name, entry in sorted(tracker.get(source, {}).items()):
            status = entry.get("releases", {}).get(release, {})
            if status.get("urgency") == "unimportant":
                continue
            corrected = status.get("fixed_version")
            if status.get("status") == "resolved" and corrected != "0" and is_older(version, corrected):
                yield source, version, name, corrected
            elif status.get("status") == "open":
                yield source, version, name, None


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    tracker_path, release, path = sys.argv[1:]
    with open(tracker_path, encoding="utf-8") as file:
        tracker = json.load(file)
    if path.endswith(".deb"):
        sources = sources_of_deb(path, installed_packages())
    else:
        with open(path, encoding="utf-8") as file:
            sources = sources_of_sbom(json.load(file))
    if not any(release in entry.get("releases", {}) for entries in tracker.values() for entry in entries.values()):
        sys.exit(f"advisories: {tracker_path} knows no release {release}")
    if not sources:
        sys.exit(f"advisories: {path} names no package of Debian")
    failed = unfixed = 0
    for source, version, name, corrected in find_advisories(tracker, release, sources):
        failed += corrected is not None
        unfixed += corrected is None
        print(f"{'failed' if corrected else 'open':8}{source} {version}: {name}" + (f", corrected in {corrected}" if corrected else ""))
    print(f"advisories: {len(sources)} source packages, {failed} corrections missing, {unfixed} open without a correction")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
