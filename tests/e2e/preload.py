# SPDX-License-Identifier: Apache-2.0
"""Libraries for LD_PRELOAD that simulate faults of the system, controlled by a number in a file (see preload.h)."""

import subprocess
from pathlib import Path

HERE = Path(__file__).parent


class Preload:
    """`library` is for LD_PRELOAD, compiled from `source`. The number is 0 until set(…) is called. `place` is a directory that the
    server's user can enter."""

    def __init__(self, place, source):
        self.file, self.library = place / f"{source.stem}.number", place / f"{source.stem}.so"
        self.file.write_bytes(bytes(8))
        subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", f"-I{HERE}", f'-DNUMBER_FILE="{self.file}"', "-shared", "-fPIC", "-o",
                        self.library, source], check=True)
        for file in (self.file, self.library):
            file.chmod(0o755)

    def set(self, number):
        """Writes the file in place, because processes have mapped it."""
        with open(self.file, "r+b") as file:
            file.write(number.to_bytes(8, "little", signed=True))


class ShiftedClock(Preload):
    """A system clock that a test shifts (see clock.c)."""

    def __init__(self, place):
        super().__init__(place, HERE / "clock.c")

    def shift(self, seconds):
        """Sets the clock ahead by some seconds."""
        self.set(int(seconds * 1000))


class SlowConnect(Preload):
    """httpd's search for the reason of a failed connection, which takes longer by set(milliseconds) (see slow_connect.c)."""

    def __init__(self, place):
        super().__init__(place, HERE / "slow_connect.c")


class FullDisk(Preload):
    """PostgreSQL's disk, which is full while the number is GROWTH or ALL (see full_disk.c)."""

    GROWTH, ALL = 1, 2

    def __init__(self, place):
        super().__init__(place, HERE / "full_disk.c")
