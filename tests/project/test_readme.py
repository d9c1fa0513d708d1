"""Check the pictures of README.md and its length."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ANIMATED = ("docs/images/demo-light.gif", "docs/images/demo-dark.gif")


def test_readme_has_at_most_900_words() -> None:
    assert len(README.split()) <= 900


@pytest.mark.parametrize("name", ANIMATED)
def test_readme_opens_with_a_small_animated_picture(name: str) -> None:
    opening = README.partition("```sh")[0]
    assert name in re.findall(r'(?:src|srcset)="([^"]+)"', opening)
    assert (ROOT / name).stat().st_size < 600_000
    with Image.open(ROOT / name) as picture:
        assert getattr(picture, "n_frames", 1) > 4


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "images").glob("*.png")), ids=lambda path: path.name)
def test_pictures_of_the_documentation_are_small_and_shown(path: Path) -> None:
    assert path.stat().st_size < 200_000
    pages = [README, *(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))]
    assert any(f"images/{path.name}" in page for page in pages)
