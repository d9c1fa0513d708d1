"""Secrets and tokens appear nowhere in the output of the real worker and commands."""

import pytest
from spoiler import FrameFault
from worker_support import Sandbox, finish, said, until

from racebot.sandbox.site import CLIENT_SECRET


@pytest.fixture
def sandbox(sandbox: Sandbox) -> Sandbox:
    sandbox.extra["RACEBOT_LOG_LEVEL"] = "debug"
    return sandbox


def check(sandbox: Sandbox, output: str) -> None:
    """Check that an output has neither the client secret nor any token that the site has issued."""
    assert output
    assert [secret for secret in (CLIENT_SECRET, *sandbox.site.issued_tokens) if secret in output] == []


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
