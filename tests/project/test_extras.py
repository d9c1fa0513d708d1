"""The extras in pyproject.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_the_sandbox_installs_everything_that_pages_need() -> None:
    """`racebot demo --open` serves them."""
    extras = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert "racebot[web]" in extras["sandbox"] or set(extras["web"]) <= set(extras["sandbox"])
