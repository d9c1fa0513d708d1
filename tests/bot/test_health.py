from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from builders import NOON
from worker_support import Bench, finish, settled, until

from racebot.bot import health
from racebot.bot.health import Health
from racebot.bot.heartbeat import last_seen, suspended_categories
from racebot.errors import CredentialsError
from racebot.telemetry.failure_log import FailureLog

REFUSAL = CredentialsError("the site refuses the token")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "racebot.db"


@pytest.fixture
def made(database: Path) -> Health:
    found = Health(database, ["a", "b"], FailureLog(), lambda: NOON)
    for slug in ("a", "b"):
        found.category_seen(slug)
    return found


def test_a_refused_category_is_suspended_and_the_other_goes_on(
    made: Health, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "REFUSED_FOR_LONG", 0.0)
    assert not any(made.is_fatal(source, REFUSAL) for source in ("a rooms", "a/race", "a token"))
    assert (made.is_suspended("a"), made.is_suspended("b")) == (True, False)
    assert suspended_categories(database) == {"a": str(REFUSAL)}
    made.category_seen("b")
    assert last_seen(database) == NOON
    made.category_seen("a")
    assert not made.is_suspended("a")
    assert suspended_categories(database) == {}


def test_a_suspended_category_is_tried_again(made: Health, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "SUSPENDED_FOR", 0.0)
    made.is_fatal("a rooms", REFUSAL)
    assert not made.is_suspended("a")


def test_refusals_of_all_categories_for_long_are_fatal(made: Health, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the wall clock steps."""
    made.clock = lambda: NOON + timedelta(days=1)
    assert not any(made.is_fatal(f"{slug} rooms", REFUSAL) for slug in ("a", "b", "a", "b"))
    monkeypatch.setattr(health, "REFUSED_FOR_LONG", 0.0)
    assert made.is_fatal("a rooms", REFUSAL)


async def test_one_category_with_a_wrong_secret_does_not_stop_the_other(
    sandbox: Bench, tmp_path: Path
) -> None:
    bot = sandbox.site.bot
    (tmp_path / "racebot.toml").write_text(
        f"""
        [[categories]]
        slug = "sandbox"
        client_id = "{bot.client_id}"
        client_secret = "{bot.client_secret}"

        [[categories]]
        slug = "elsewhere"
        client_id = "{bot.client_id}"
        client_secret = "an old secret"
        """,
        encoding="utf-8",
    )
    for name in ("CATEGORY", "CLIENT_ID", "CLIENT_SECRET"):
        sandbox.extra[f"RACEBOT_{name}"] = ""
    async with sandbox.worker() as worker:
        room = sandbox.open_race(3)
        await until(lambda: sandbox.misbehaviour.open_sockets == 1)
        finish(room, 60, 70)
        room.record()
        await until(lambda: settled(sandbox, room))
        assert "category elsewhere is suspended" in worker.output
        assert "elsewhere is suspended" in (await sandbox.racebot("status")).stdout
        done = await sandbox.racebot("health")
        assert done.returncode == 1
        assert "elsewhere is suspended" in done.stderr
        assert await worker.terminate() == 0


async def test_a_busy_monitor_port_does_not_stop_the_bot(sandbox: Bench) -> None:
    port = sandbox.address.rpartition(":")[2]
    sandbox.extra["RACEBOT_MONITOR_PORT"] = port
    async with sandbox.worker() as worker:
        await until(lambda: "watching" in worker.output)
        assert f"RACEBOT_MONITOR_PORT={port}" in worker.output
