from __future__ import annotations

import json

import pytest
from builders import result

from racebot.cli import study_json
from racebot.cli.common import print_json
from racebot.study.evaluate import Entry, evaluate
from racebot.study.history import History
from racebot.study.presets import PRESETS


def test_figures_without_any_case_are_null(capsys: pytest.CaptureFixture[str]) -> None:
    history = History.of([result("r", "ann bo", dnf="cy")])
    report = evaluate(history, [Entry("elo", "pairwise-elo"), Entry("ts", "trueskill")])
    print_json(study_json.evaluated(report, dict(zip(["elo"], PRESETS.values(), strict=False))))

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    elo, ts = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert elo["views"]["best"]["misordered"] is None
    assert (elo["races"], elo["pairs"]) == (1, 3)
    assert elo["parameters"]["unfinished"] == "unobserved"
    assert {"published", "rerun"} <= elo.keys()
    assert "published" not in ts
    assert elo["comparisons"] == ts["comparisons"]
    assert None in elo["reliability"]["predicted"]
