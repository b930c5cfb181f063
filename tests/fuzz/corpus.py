# SPDX-License-Identifier: Apache-2.0
"""Converts a fuzzer's corpus: corpus.py unpack FILE FOLDER, corpus.py pack FOLDER FILE

In the file each input is a line: a JSON string with a character for each byte, so that diffs are readable.
"""

import hashlib
import json
import sys
from pathlib import Path


def unpack(file, folder):
    for line in Path(file).read_text().splitlines():
        data = json.loads(line).encode("latin-1")
        (Path(folder) / hashlib.sha1(data).hexdigest()).write_bytes(data)


def pack(folder, file):
    inputs = sorted((path.read_bytes() for path in Path(folder).iterdir()), key=lambda data: (len(data), data))
    Path(file).write_text("".join(json.dumps(data.decode("latin-1")) + "\n" for data in inputs))


{"unpack": unpack, "pack": pack}[sys.argv[1]](*sys.argv[2:])
