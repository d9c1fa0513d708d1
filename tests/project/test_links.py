"""Check that links between the project's pages lead to existing files and headings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


def without_code(text: str) -> str:
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)


def headings(page: Path) -> set[str]:
    """Return the anchors of a page's headings by GitHub's rule."""
    found = re.findall(r"^#+ (.+)$", without_code(page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def broken(page: Path, text: str) -> list[str]:
    """Return the broken relative links of a text on this page."""
    found = []
    prose = re.sub(r"(?<!\[)`[^`\n]+`(?!\])", "", without_code(text))
    targets = re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", prose) + re.findall(r'(?:src|srcset)="([^"]+)"', prose)
    for target in targets:
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (heading and (file.suffix != ".md" or heading not in headings(file))):
            found.append(target)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_work(page: Path) -> None:
    assert broken(page, page.read_text(encoding="utf-8")) == []


def test_broken_links_are_found() -> None:
    text = "[a](docs/none.md) [b](docs/chat.md#nothing) [c](#development) [d](docs/chat.md#for-moderators) [e](https://f.g)"
    assert broken(ROOT / "README.md", text) == ["docs/none.md", "docs/chat.md#nothing"]


def test_navigation_of_the_site_lists_each_page_once() -> None:
    toc = (ROOT / "docs" / "site" / "toc.yml").read_text(encoding="utf-8")
    listed = re.findall(r"(?:root|file): (docs/\S+)$", toc, re.MULTILINE)
    assert sorted(listed) == sorted(f"docs/{page.stem}" for page in ROOT.glob("docs/*.md"))
