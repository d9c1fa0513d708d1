"""Check README.md. `tests/cli/test_demo.py` compares its chat with the demo's."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURES = re.findall(r'(?:src|srcset)="(docs/[^"]+)"', README)


def words(text: str) -> list[str]:
    return text.split()


def chat() -> str:
    """Return the chat that README.md shows as text."""
    (block,) = re.findall(r"```text\n(Race finished.*?)```", README, re.DOTALL)
    return str(block)


def test_readme_has_at_most_900_words() -> None:
    assert len(words(README)) <= 900


def test_readme_has_a_light_and_a_dark_version_of_each_picture() -> None:
    light = [name for name in PICTURES if "-light." in name]
    assert len(light) >= 2
    assert sorted(PICTURES) == sorted([*light, *(name.replace("-light.", "-dark.") for name in light)])


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_small(name: str) -> None:
    assert 0 < (ROOT / name).stat().st_size < 200_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_picture_of_the_chat_shows_the_chat(scheme: str) -> None:
    picture = ElementTree.parse(ROOT / "docs" / "images" / f"chat-{scheme}.svg")  # noqa: S314 - our own
    shown = " ".join("".join(row.itertext()) for row in picture.iter("{http://www.w3.org/2000/svg}text"))
    assert words(shown) == words(chat())
