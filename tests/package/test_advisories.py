# SPDX-License-Identifier: Apache-2.0
"""advisories.py with a small copy of the tracker's format, SBOMs, and a .deb that depends on what is installed here."""
import json
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).parent / "advisories.py"


def resolved(version):
    return {"releases": {"bookworm": {"status": "resolved", "fixed_version": version, "urgency": "medium"}}}


def unresolved(urgency):
    return {"releases": {"bookworm": {"status": "open", "urgency": urgency, "nodsa": "Minor issue"}}}


TRACKER = {
    "jansson": {"CVE-2099-0001": resolved("2.14-2+deb12u1"), "CVE-2099-0002": resolved("2.13-1"), "CVE-2099-0003": resolved("0"),
                "CVE-2099-0004": unresolved("low"), "CVE-2099-0005": unresolved("unimportant"),
                "CVE-2099-0006": {"releases": {"trixie": {"status": "open", "urgency": "high"}}}},
    "other": {"CVE-2099-0007": resolved("9")},
}


@pytest.fixture
def check(tmp_path):
    def run(package, tracker=TRACKER, release="bookworm"):
        (tmp_path / "tracker.json").write_text(json.dumps(tracker))
        if isinstance(package, dict):
            (tmp_path / "sbom.json").write_text(json.dumps(package))
            package = tmp_path / "sbom.json"
        done = subprocess.run([sys.executable, "-B", SCRIPT, tmp_path / "tracker.json", release, package], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr
    return run


def cyclonedx(*urls):
    return {"bomFormat": "CycloneDX", "components": [{"name": "x", "purl": url} for url in urls]}


def test_a_missing_correction_fails_and_an_open_vulnerability_is_listed(check):
    status, said = check(cyclonedx("pkg:deb/debian/libjansson4@2.14-2?arch=amd64&upstream=jansson"))
    assert status == 1
    assert said.splitlines() == ["failed  jansson 2.14-2: CVE-2099-0001, corrected in 2.14-2+deb12u1", "open    jansson 2.14-2: CVE-2099-0004",
                                 "advisories: 1 source packages, 1 corrections missing, 1 open without a correction"]


@pytest.mark.parametrize("url", [
    "pkg:deb/debian/jansson@2.14-2%2Bdeb12u1?arch=source", "pkg:deb/debian/libjansson4@2.14-2%2Bdeb12u1%2Bb1?arch=amd64&upstream=jansson",
    "pkg:deb/debian/libjansson4@9?arch=amd64&upstream=jansson%402.14-2%2Bdeb12u1"])
def test_a_corrected_version_passes(check, url):
    status, said = check(cyclonedx(url))
    assert status == 0 and "failed" not in said and "CVE-2099-0004" in said, said


def test_an_spdx_document_is_read(check):
    status, said = check({"spdxVersion": "SPDX-2.3", "packages": [{"externalRefs": [
        {"referenceType": "purl", "referenceLocator": "pkg:deb/debian/jansson@2.14-2?arch=source"}]}]})
    assert status == 1 and "CVE-2099-0001" in said


def test_a_deb_has_the_installed_versions_of_its_dependencies(check, tmp_path):
    control = tmp_path / "deb/DEBIAN/control"
    control.parent.mkdir(parents=True)
    control.write_text("Package: x\nVersion: 1\nArchitecture: all\nMaintainer: m\nDescription: d\nDepends: coreutils (>= 1), none-such (>= 1)\n")
    deb = tmp_path / "x.deb"
    subprocess.run(["dpkg-deb", "-b", control.parent.parent, deb], check=True, capture_output=True)
    installed = subprocess.run(["dpkg-query", "-W", "-f", "${source:Version}\n", "libc6"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    # coreutils depends on libc6, whose source is glibc.
    status, said = check(deb, {"glibc": {"CVE-2099-0008": resolved(installed + "+1"), "CVE-2099-0009": resolved(installed)}})
    assert status == 1 and f"failed  glibc {installed}: CVE-2099-0008" in said and "CVE-2099-0009" not in said
    assert "not installed, so not checked: none-such" in said


def test_a_removed_package_is_not_installed(check, tmp_path, monkeypatch):
    (tmp_path / "dpkg-query").write_text("#!/bin/sh\nprintf 'config-files\\tcoreutils\\tcoreutils\\t1\\t, \\t\\ninstalled\\tlibc6\\tglibc\\t2\\t, \\t\\n'\n")
    (tmp_path / "dpkg-query").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    control = tmp_path / "deb/DEBIAN/control"
    control.parent.mkdir(parents=True)
    control.write_text("Package: x\nVersion: 1\nArchitecture: all\nMaintainer: m\nDescription: d\nDepends: coreutils, libc6\n")
    subprocess.run(["dpkg-deb", "-b", control.parent.parent, tmp_path / "x.deb"], check=True, capture_output=True)
    status, said = check(tmp_path / "x.deb", {"coreutils": {"CVE-2099-0010": resolved("9")}})
    assert status == 0 and "not installed, so not checked: coreutils" in said, said


def test_what_cannot_be_checked_is_an_error(check):
    assert "names no package of Debian" in check(cyclonedx("pkg:npm/swagger-ui@5"))[1]
    status, said = check(cyclonedx("pkg:deb/debian/jansson@1?arch=source"), release="forky")
    assert status == 1 and "knows no release forky" in said
