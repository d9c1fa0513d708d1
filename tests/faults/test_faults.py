"""Seeded races on a misbehaving site: the ledger equals a replay, and every room hears each result once."""

import sys
from pathlib import Path

import pytest

from .harness import Plan, Run


async def test_few_races_survive_faults(tmp_path: Path) -> None:
    run = Run(Plan(seed=10, races=14, acts=3, act_seconds=2.0, severity=5), tmp_path)
    report = await run.perform()
    assert report.races["recorded"] >= 5
    assert report.messages >= 10
    assert sum(report.faults.values()) >= 10


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_two_hundred_races_survive_faults(tmp_path: Path, seed: int) -> None:
    run = Run(Plan(seed, races=200, acts=7, act_seconds=8.0, severity=14), tmp_path)
    report = await run.perform()
    assert report.races["recorded"] >= 100
    assert report.corrections >= 30


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="finds the worker's processes in /proc")
@pytest.mark.parametrize("seed", [1, 2])
async def test_a_hundred_races_survive_a_slow_ledger_and_killed_rebuilds(tmp_path: Path, seed: int) -> None:
    run = Run(Plan(seed, races=100, acts=5, act_seconds=20.0, rebuilds=6), tmp_path)
    report = await run.perform()
    assert report.races["recorded"] >= 50
    assert report.faults["rebuild killed"] >= 5
    assert report.faults["ledger slow"] >= 5
    assert report.faults["socket dropped during a rebuild"] >= 5
