# SPDX-License-Identifier: Apache-2.0
"""Runs a client that third-party tools generate from the OpenAPI document through a sequence of requests."""

import os
import subprocess

import pytest

from client import Api
from deployment import ROOT

pytestmark = pytest.mark.unsanitized


def test_a_generated_client_works_end_to_end(instance, admin_factory, tmp_path):
    description = tmp_path / "openapi.yaml"
    description.write_bytes(Api(instance, source="127.0.0.9").get("openapi.yaml").content)
    settings = {"NEOAPI_URL": instance.url, "NEOAPI_KEY": admin_factory.key().secret, "NODE_EXTRA_CA_CERTS": instance.ca}
    done = subprocess.run(["sh", ROOT / "tests/openapi/story.sh", description, tmp_path], capture_output=True, text=True,
                          timeout=600, env={**os.environ, **settings})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("the story ended\n"), done.stdout
