"""Check that links between the project's pages lead to existing files and headings, and named files exist."""

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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_work_and_named_files_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"(?<!\[)`[^`\n]+`(?!\])", "", without_code(text))
    targets = re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", prose) + re.findall(r'(?:src|srcset)="([^"]+)"', prose)
    for target in targets:
        if not re.match(r"[a-z]+:", target):
            path, _, heading = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            assert file.exists(), target
            assert not heading or heading in headings(file), target
    for name in re.findall(r"`((?:racebot|tests|docs|benchmarks)/[\w/-]+\.(?:py|md))`", text):
        assert (ROOT / name).exists() or "test_borda" in name, name
