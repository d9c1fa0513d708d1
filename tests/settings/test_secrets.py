"""Secrets and tokens appear nowhere in the output of the real worker and commands."""

import json

import pytest
from fuzz.mutation import Bytes, bent, written
from fuzz.targets import FRAMES
from spoiler import FrameFault
from worker_support import Sandbox, finish, said, until

from racebot.sandbox.room import FakeRoom
from racebot.sandbox.site import CLIENT_SECRET


@pytest.fixture
def sandbox(sandbox: Sandbox) -> Sandbox:
    sandbox.extra["RACEBOT_LOG_LEVEL"] = "debug"
    return sandbox


def check(sandbox: Sandbox, output: str) -> None:
    """Check that an output has neither the client secret nor any token that the site has issued."""
    assert output
    assert [secret for secret in (CLIENT_SECRET, *sandbox.site.issued_tokens) if secret in output] == []


def strange_frames(count: int) -> list[str | bytes]:
    """Return malformed frames: almost valid ones, those of another race, and garbage."""
    frames: list[str | bytes] = ["", "[]", "null", "[" * 10**5, '{"type": 1e999}', "9" * 5_000, b"\xff", "\0"]
    frames += [json.dumps({"type": "x" * 10**5}), '{"type": "race.data", "type": "pong"}', '"\\ud800"']
    for number in range(count):
        source = Bytes(number.to_bytes(2, "big") * 40)
        frames.append(written(bent(FRAMES[number % len(FRAMES)], source), source).decode(errors="replace"))
    # The bot rightly drops a message if an error follows it.
    return [frame for frame in frames if not isinstance(frame, str) or '"error"' not in frame]


def announced(room: FakeRoom) -> list[str]:
    """Return the rating messages and corrections in a room, without answers to the commands in its frames."""
    return [text for text in said(room) if text.startswith(("Ratings if recorded", "Correction"))]


async def test_worker_survives_anything_a_room_sends(sandbox: Sandbox) -> None:
    """Between malformed frames, a race is announced and settled as usual, without unexpected errors."""
    async with sandbox.worker() as worker:
        sandbox.misbehaviour.interject(*strange_frames(300))
        room = sandbox.open_race(3)
        finish(room, 60, 61)
        await until(lambda: announced(room))
        sandbox.misbehaviour.interject(*strange_frames(300))
        room.disqualify(room.entrants[0].user)
        await until(lambda: len(announced(room)) > 1)
        room.record()
        await until(lambda: room.info_bot)
        assert len(announced(room)) == 2
        assert await worker.terminate() == 0
    assert "unreadable frame" in worker.output
    assert "unexpected" not in worker.output
    assert "Traceback" not in worker.output
    assert not [line for line in worker.output.splitlines() if not line.isprintable()]
    with sandbox.ledger() as ledger:
        assert ledger.races.get(room.name) is not None
        assert ledger.races.get("orb/r") is None


async def test_output_of_a_failing_run_contains_no_secret(sandbox: Sandbox) -> None:
    site, faults = sandbox.site, sandbox.misbehaviour
    async with sandbox.worker() as worker:
        room = sandbox.open_race(3)
        await until(lambda: faults.open_sockets)
        site.revoke_tokens()
        faults.fail_http(2, 500)
        faults.fail_http(1, 200)
        faults.fail_http(1, 401, path="/o/token")
        faults.refuse_handshakes(2)
        faults.drop_sockets()
        for fault in (FrameFault.MALFORMED, FrameFault.NOT_UTF8, FrameFault.WRONG_SHAPE):
            faults.spoil_frames(fault)
        finish(room, 60, 61)
        await until(lambda: said(room))
        assert await worker.terminate() == 0
    assert sandbox.site.issued_tokens
    assert "DEBUG" in worker.output
    check(sandbox, worker.output)


CRASH = """\
from racebot.cli import main

def crash(*_, **__):
    raise ZeroDivisionError("induced")

{where} = crash
main()
"""


@pytest.mark.parametrize(
    ("command", "where"),
    [
        ("doctor", "import httpx; httpx.AsyncClient.stream"),
        ("run", "import racebot.bot.worker; racebot.bot.worker.check_categories"),
        ("doctor", "import racebot.racetime.client as api; api.read_json"),
    ],
)
async def test_crash_reveals_no_secret(sandbox: Sandbox, command: str, where: str) -> None:
    script = sandbox.database.parent / "crash.py"
    module, _, name = where.partition("; ")
    script.write_text(f"{module}\n{CRASH.format(where=name)}", encoding="utf-8")
    sandbox.script = script
    crashed = await sandbox.start(command)
    await crashed.ended()
    assert "ZeroDivisionError: induced" in crashed.output
    check(sandbox, crashed.output)
