# SPDX-License-Identifier: Apache-2.0
"""A system clock for one Apache that a test shifts at any time (see clock.c)."""

import subprocess
from pathlib import Path


class ShiftedClock:
    """`library` is for LD_PRELOAD. It shows the right time until shift(…) is called. `place` is a directory."""

    def __init__(self, place):
        self.file, self.library = place / "clock.shift", place / "clock.so"
        self.file.write_bytes(bytes(8))
        subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", f'-DSHIFT_FILE="{self.file}"', "-shared", "-fPIC", "-o",
                        self.library, Path(__file__).with_name("clock.c")], check=True)
        for file in (self.file, self.library):
            file.chmod(0o755)

    def shift(self, seconds):
        """Sets the clock so far ahead; 0 is the right time. In place, because processes have mapped the file."""
        with open(self.file, "r+b") as file:
            file.write(int(seconds * 1000).to_bytes(8, "little", signed=True))
