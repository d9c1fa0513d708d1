"""Check the documentation site's navigation. `.ci/run` builds the site with strict links."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_navigation_lists_each_page_once() -> None:
    toc = (ROOT / "docs" / "site" / "toc.yml").read_text(encoding="utf-8")
    listed = re.findall(r"(?:root|file): (docs/\S+)$", toc, re.MULTILINE)
    assert sorted(listed) == sorted(f"docs/{page.stem}" for page in ROOT.glob("docs/*.md"))
