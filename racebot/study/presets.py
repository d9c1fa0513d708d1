"""Published figures to reproduce and compare with, by name: `presets.toml` has them, and their source."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import NamedTuple

from racebot.ratings.parameters import Parameters


class Preset(NamedTuple):
    """A row of the source's tables.

    Attributes:
        published: published share of misordered pairs.
        rerun: share of misordered pairs when running the author's program today.
    """

    title: str
    model: str
    parameters: Parameters
    published: float
    rerun: float


_ROWS = tomllib.loads(resources.files(__package__).joinpath("presets.toml").read_text(encoding="utf-8"))
PRESETS = {name: Preset(**row) for name, row in _ROWS.items()}
"""The fourteen rows by name, in the order of the source."""
