# SPDX-License-Identifier: Apache-2.0
"""make-release.sh in a small repository with this project's files of versions, whose `make` builds and checks nothing."""
import pathlib
import re
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="releases need git")
HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
CHANGELOG = "# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n"
PACKAGED = "mod-neoapi (0.1.0-1) unstable; urgency=medium\n\n  * First package.\n\n -- M <m@example.com>  Sat, 21 Nov 2026 12:00:00 +0000\n"
IMAGE_USERS = sorted(str(path.relative_to(ROOT)) for folder in ("conf", "doc", "src") for path in (ROOT / folder).rglob("*")
                     if path.is_file() and re.search(rb"mod-neoapi:\d", path.read_bytes()))
# `make package` makes a package with the version that the Makefile reads.
MAKEFILE = r"""VERSION := $(shell sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p' debian/changelog)
package:
    @mkdir -p build/package/$(RELEASE)/tree/DEBIAN
    @printf 'Package: libapache2-mod-neoapi\nVersion: $(VERSION)-1\nArchitecture: all\nMaintainer: m\nDescription: d\n' >build/package/$(RELEASE)/tree/DEBIAN/control
    @dpkg-deb -b build/package/$(RELEASE)/tree build/package/$(RELEASE)/libapache2-mod-neoapi_$(VERSION)_all.deb
    @touch build/package/$(RELEASE)/x.buildinfo
check-all:
    @echo checked $(VERSION)
""".replace("\n    ", "\n\t")


class Project:
    def __init__(self, root):
        self.root = root
        for name, content in {"CHANGELOG.md": CHANGELOG, "debian/changelog": PACKAGED, "debian/control": "Maintainer: M <m@example.com>\n",
                              "sql/0001_x.sql": "select 1;\n", "Makefile": MAKEFILE, ".gitignore": "build/\n",
                              "tests/package/test.sh": "echo tested $NEOAPI_RELEASE\n",
                              **{name: (ROOT / name).read_text() for name in IMAGE_USERS}}.items():
            self.write(name, content)
        shutil.copy(HERE / "make-release.sh", root / "tests/package")
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "M")
        self.git("config", "user.email", "m@example.com")
        self.commit()

    def write(self, name, content):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(content)

    def read(self, name):
        return (self.root / name).read_text()

    def git(self, *args):
        return subprocess.run(["git", *args], cwd=self.root, check=True, capture_output=True, text=True).stdout

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", "A change")

    def release(self, version, **env):
        done = subprocess.run(["sh", "tests/package/make-release.sh", version, "build/release"], cwd=self.root, capture_output=True,
                              text=True, env={"PATH": "/usr/bin:/bin", "HOME": str(self.root), **env})
        return done.returncode, done.stdout + done.stderr

    def state(self):
        return self.git("rev-parse", "HEAD"), self.git("tag"), self.git("status", "--porcelain")

    def refused(self, words, version="0.1.0", **env):
        before = self.state()
        status, said = self.release(version, **env)
        assert status and words in said and "nothing was released" in said, said
        assert self.state() == before and not (self.root / "build/release" / version).exists()


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_a_release_has_its_steps_in_order_and_changes_main_and_tag(project):
    status, said = project.release("0.1.0")
    assert status == 0, said
    order = [said.index(f"== {step}") for step in ("changelog", "version", "commit_and_tag", "artefacts", "checks", "publish_here")]
    assert order == sorted(order) and "checked 0.1.0" in said and "tested trixie" in said
    assert project.git("describe").strip() == "v0.1.0" and project.git("status", "--porcelain") == ""
    assert "## Unreleased\n\n## 0.1.0 - 20" in project.read("CHANGELOG.md")
    assert project.read("debian/changelog").count("mod-neoapi (") == 1 and "21 Nov 2026" not in project.read("debian/changelog")
    folder = project.root / "build/release/0.1.0"
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()) == [
        "SHA256SUMS", "bookworm/libapache2-mod-neoapi_0.1.0_all.deb", "bookworm/x.buildinfo", "mod_neoapi-0.1.0.tar.gz",
        "trixie/libapache2-mod-neoapi_0.1.0_all.deb", "trixie/x.buildinfo"]
    subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=folder, check=True)
    assert "SHA256SUMS" not in (folder / "SHA256SUMS").read_text()


def test_the_next_release_has_an_entry_of_its_own(project):
    assert project.release("0.1.0")[0] == 0
    project.write("CHANGELOG.md", project.read("CHANGELOG.md").replace("## Unreleased\n", "## Unreleased\n\n### Fixed\n\n- Another thing.\n", 1))
    project.write("sql/0002_y.sql", "select 2;\n")
    project.commit()
    project.refused("increase the second number", "0.1.1")
    project.refused("must be higher than 0.1.0", "0.0.9")
    assert project.release("0.2.0")[0] == 0
    assert project.read("debian/changelog").startswith("mod-neoapi (0.2.0-1) unstable")
    assert {"conf/kubernetes/migrate.yaml", "doc/image.md", "src/docs/ways.html"} <= set(IMAGE_USERS)
    for name in IMAGE_USERS:
        assert set(re.findall(r"mod-neoapi:(\d[^\s<]+)", project.read(name))) == {"0.2.0-1"}, name
    assert "## 0.2.0 - 20" in project.read("CHANGELOG.md") and project.git("describe").strip() == "v0.2.0"


def test_a_dry_run_changes_nothing(project):
    before = project.state()
    status, said = project.release("0.1.0", NEOAPI_DRY_RUN="1")
    assert status == 0 and "a dry run" in said and project.state() == before


@pytest.mark.parametrize("target", ["package", "check-all"])
def test_a_failed_step_changes_nothing_and_the_release_can_be_repeated(project, target):
    project.write("Makefile", MAKEFILE.replace(f"{target}:\n", f"{target}:\n\t@test -e {project.root}/build/corrected\n"))
    project.commit()
    project.refused("artefacts failed" if target == "package" else "checks failed")
    project.write("build/corrected", "")
    assert project.release("0.1.0")[0] == 0
    assert "has been released" in project.release("0.1.0")[1]


def test_what_is_not_ready_is_not_released(project):
    for version in ("", "1", "0.1", "v0.1.0", "0.1.0-rc1", "0.01.0"):
        status, said = project.release(version)
        assert status and "three numbers" in said
    project.write("CHANGELOG.md", CHANGELOG.replace("- A thing.\n", ""))
    project.refused("uncommitted changes")
    project.commit()
    project.refused("no changes under")
    project.git("checkout", "--quiet", "-b", "other")
    project.refused("from the branch main")


def test_a_package_of_another_version_is_not_released(project):
    project.write("Makefile", MAKEFILE.replace("Version: $(VERSION)-1", "Version: 0.0.9-1"))
    project.commit()
    project.refused("has the version 0.0.9-1")


def test_a_failure_after_the_commit_says_what_has_happened(project):
    hook = project.root / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\n[ "$1" != prepared ] || ! grep -q refs/tags/\n')
    hook.chmod(0o755)
    status, said = project.release("0.1.0")
    assert status and "publish_here failed; main has the commit of the release, but not the tag" in said, said
    assert project.git("log", "-1", "--format=%s").strip() == "Release 0.1.0" and project.git("tag") == ""


def test_a_commit_during_the_release_is_kept(project):
    project.write("Makefile", MAKEFILE + f"\t@cd {project.root} && git commit --quiet --allow-empty -m Another\n")
    project.commit()
    status, said = project.release("0.1.0")
    assert status and "publish_here failed" in said and project.git("tag") == ""
    assert project.git("log", "-1", "--format=%s").strip() == "Another"
