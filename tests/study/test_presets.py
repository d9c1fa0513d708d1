from __future__ import annotations

import pytest

from racebot.ratings.registry import MODELS, create
from racebot.study.presets import PRESETS


def test_presets_are_the_published_rows() -> None:
    assert len(PRESETS) == 14
    for preset in PRESETS.values():
        # The source rounds its figures, and its program changed slightly after publication.
        assert preset.rerun == pytest.approx(preset.published, abs=0.0004)
        assert 0.2 < preset.published < 0.25


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_creates_its_model(name: str) -> None:
    preset = PRESETS[name]
    if preset.model not in MODELS:
        pytest.skip(f"{preset.model} is not registered")
    assert create(preset.model, preset.parameters).key == preset.model
