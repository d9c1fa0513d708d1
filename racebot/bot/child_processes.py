"""Processes that the worker starts beside itself. Each can be killed: its work is complete or not visible."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass

from racebot.bot.failures import Backoff
from racebot.errors import RacebotError, reason

log = logging.getLogger(__name__)

TIMEOUT = 900.0  # seconds that an export may take


@dataclass
class ChildProcess:
    """Runs a command while work waits for it, such as rebuilds. `work` names that in the log and in errors.

    `waiting` returns a token of the work, empty if there is none. What failed is tried again after growing
    pauses, and other work at once. With a `rest`, the work has no end, as that of pages: the same is done
    once, and a pause follows, as a multiple of its duration.
    """

    work: str
    command: Sequence[str]
    waiting: Callable[[], Awaitable[Hashable]]
    backoff: Backoff
    rest: float = 0.0
    _done: Hashable = None

    async def run_if_waiting(self) -> bool:
        """Run the command if work waits. Return whether none waits any more."""
        waiting = await self.waiting()
        if not waiting or (self.rest and waiting == self._done):
            return True
        item = self.work if self.rest else f"{self.work} {waiting}"
        if self.backoff.rests(item):
            return False
        start = self.backoff.clock()
        try:
            async with asyncio.timeout(TIMEOUT if self.rest else None):
                line = await run_command(self.command)
        except (RacebotError, TimeoutError) as error:
            self.backoff.rest(item)
            raise RacebotError(f"{self.work}: {str(error) or 'timed out'}") from None
        self.backoff.worked(item)
        self.backoff.rest(item, self.rest * (self.backoff.clock() - start))
        self._done = waiting
        log.info("%s: done%s", self.work, line and f": {line}")
        return True


async def run_command(command: Sequence[str]) -> str:
    """Run a command, and return the last line that it prints. Raise `RacebotError` if it fails.

    If the caller is cancelled, the command is killed. If this process is killed, the standard input of the
    command ends.
    """
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
    except OSError as error:
        raise RacebotError(reason(error)) from None
    try:
        # Not communicate(), which closes the input.
        out, problems = await asyncio.gather(_read(process.stdout), _read(process.stderr))
        code = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if code < 0:
        raise RacebotError(f"the command was killed by signal {-code}")
    if code:
        raise RacebotError(_last_line(problems).removeprefix("racebot: "))
    return _last_line(out)


async def _read(stream: asyncio.StreamReader | None) -> bytes:
    """Return the end of what a command prints."""
    kept = b""
    while stream is not None and (chunk := await stream.read(65536)):
        kept = (kept + chunk)[-65536:]
    return kept


def _last_line(output: bytes) -> str:
    return (output.decode(errors="replace").strip().splitlines() or [""])[-1]
