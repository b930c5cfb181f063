# SPDX-License-Identifier: Apache-2.0
"""Prints what files were built from, as an in-toto statement with SLSA's predicate: provenance.py SOURCE COMMAND RELEASE FILE…

SOURCE is the git work tree. The components that a list *.cyclonedx.json beside the first file names are further inputs."""
import hashlib
import json
import pathlib
import subprocess
import sys

URL = "https://mod-neoapi.example/"


def git(source, *arguments):
    done = subprocess.run(["git", "-C", source, *arguments], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def digest(path):
    return {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def main():
    source, command, release, *names = sys.argv[1:]
    files = [pathlib.Path(name) for name in names]
    parameters = {"command": command, "release": release}
    if git(source, "status", "--porcelain"):
        parameters["uncommitted"] = True
    inputs = [{"uri": f"git+{URL}mod_neoapi.git", "digest": {"gitCommit": git(source, "rev-parse", "HEAD") or "unknown"}}]
    for file in sorted(files[0].parent.glob("*.cyclonedx.json")):
        inputs += [{"uri": part["purl"]} for part in json.loads(file.read_text())["components"]]
    print(json.dumps({
        "_type": "https://in-toto.io/Statement/v1", "predicateType": "https://slsa.dev/provenance/v1",
        "subject": [{"name": file.name, "digest": digest(file)} for file in files],
        "predicate": {"buildDefinition": {"buildType": f"{URL}build/1", "externalParameters": parameters, "resolvedDependencies": inputs},
                      "runDetails": {"builder": {"id": f"{URL}build/local"}}}}, indent=1))


main()
