"""Links from one of the project's pages to another lead to a file that is there, and to a heading in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


def prose(page: Path) -> str:
    """A page without its blocks and pieces of code."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(?<!\[)`[^`\n]+`(?!\])", "", text)


def headings(page: Path) -> set[str]:
    """What its headings are called in addresses, by GitHub's rule, which numbers those that recur."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    names: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = sum(re.fullmatch(rf"{re.escape(name)}(-\d+)?", other) is not None for other in names)
        names.add(f"{name}-{count}" if count else name)
    return names


def broken(page: Path, text: str) -> list[str]:
    """The relative links of a text, as if it stood in this page, that lead nowhere."""
    found = []
    for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (heading and (file.suffix != ".md" or heading not in headings(file))):
            found.append(target)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page, prose(page)) == []


def test_a_link_that_leads_nowhere_is_seen() -> None:
    text = "[a](docs/none.md) [b](docs/chat.md#nothing) [c](#try-it) [d](docs/chat.md#for-moderators) [e](https://f.g)"
    assert broken(ROOT / "README.md", text) == ["docs/none.md", "docs/chat.md#nothing"]
