# SPDX-License-Identifier: Apache-2.0
"""What the Debian package contains."""
import pathlib

ROOT = pathlib.Path(__file__).parents[2]


def test_the_package_has_every_document_for_administrators():
    documents = {f"doc/{path.name}" for path in (ROOT / "doc").glob("*.md")} - {"doc/releasing.md"}
    listed = (ROOT / "debian/libapache2-mod-neoapi.docs").read_text().split()
    assert set(listed) == {"README.md", "SECURITY.md", *documents}
