# SPDX-License-Identifier: Apache-2.0
"""The schemas of Kubernetes, Compose and CycloneDX, and a linter of workflows, which package-lock.json pins."""
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = HERE.parents[1] / "build/image-tools"


def install_tools():
    subprocess.run(["sh", HERE.parent / "deploy/npm.sh", HERE, TOOLS], check=True)
    return TOOLS
