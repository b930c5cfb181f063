# SPDX-License-Identifier: Apache-2.0
"""The commands of doc/image.md, and those for the container on the page "Running the service", work as they are written, with podman."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

import pytest


@pytest.mark.parametrize("page", ["doc/image.md", "src/docs/ways.html"])
def test_the_page_leads_to_an_event(page):
    with tempfile.TemporaryDirectory(prefix="neoapi-page.", dir="/var/tmp") as folder:
        pathlib.Path(folder).chmod(0o755)
        began = time.monotonic()
        done = subprocess.run(["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-B",
                               pathlib.Path(__file__).with_name("page.py"), os.environ["NEOAPI_IMAGE"], folder, page],
                              capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    print(f"{page}, from the image to an event: {time.monotonic() - began:.0f} s")
