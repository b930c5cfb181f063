# SPDX-License-Identifier: Apache-2.0
"""The forge's workflow uses targets that exist, and does what .ci/run does."""
import pathlib
import re

import yaml

ROOT = pathlib.Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()


def jobs():
    return yaml.safe_load((ROOT / ".github/workflows/check.yml").read_text())["jobs"]


def test_every_target_exists():
    for name, job in jobs().items():
        targets = job.get("strategy", {}).get("matrix", {}).get("target", [])
        for step in job["steps"]:
            targets += re.findall(r"^make ([a-z0-9-]+)", step.get("run", ""))
        assert targets, name
        for target in targets:
            assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), (name, target)


def test_it_does_what_ci_does_on_both_releases():
    matrix = jobs()["check"]["strategy"]["matrix"]
    assert matrix["debian"] == ["bookworm", "trixie"]
    ours = set(re.findall(r"make ([a-z-]+)", (ROOT / ".ci/run").read_text()))
    assert ours == {"check", "check-rest"} and ours <= set(matrix["target"])
