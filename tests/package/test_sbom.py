# SPDX-License-Identifier: Apache-2.0
"""sbom.py: Debian's License fields as expressions of SPDX."""
import importlib.util
import pathlib

import pytest

PATH = pathlib.Path(__file__).parents[1] / "image/sbom.py"
spec = importlib.util.spec_from_file_location("sbom", PATH)
sbom = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sbom)


@pytest.mark.parametrize("field, terms", [
    ("Expat", {"MIT"}),
    ("Expat and ISC", {"MIT", "ISC"}),
    ("LGPL-3+ or GPL-2+", {"(GPL-2.0-or-later OR LGPL-3.0-or-later)"}),
    ("Expat or ISC and Zlib", {"(ISC AND Zlib OR MIT)"}),
    ("Expat or ISC, and Zlib", {"(ISC OR MIT)", "Zlib"}),
    ("Expat, ISC", {"MIT", "ISC"}),
    ("Expat, or ISC", {"(ISC OR MIT)"}),
    ("Expat|ISC", {"(ISC OR MIT)"}),
    ("Expat or Expat", {"MIT"}),
    ("PostgreSQL and Custom-regex", {"PostgreSQL", "LicenseRef-Custom-regex"}),
    ("GPL-2+ with Libtool exception", {"LicenseRef-GPL-2-with-Libtool-exception"}),
])
def test_a_choice_of_licences_stays_one(field, terms):
    assert sbom.licence_terms(field) == terms


def test_the_text_of_a_licence_is_no_term():
    assert sbom.declared_terms("""Format: x

Files: *
Copyright: x
License: LGPL-3+ or GPL-2+

Files: a
 b
License: Expat
 Permission is
 .
 granted

License: GPL-2+
 This is
""") == {"(GPL-2.0-or-later OR LGPL-3.0-or-later)", "MIT"}
