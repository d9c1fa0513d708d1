"""Runs commands of racebot in processes of their own, which keeps the worker responsive and small."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from racebot.errors import CommandError


async def run_command(command: Sequence[str]) -> str:
    """Run a command, and return the last line that it prints.

    If the caller is cancelled, the command is killed. If this process is killed, the standard input of the
    command ends.

    Args:
        command: the program and its arguments.

    Raises:
        CommandError: the command cannot be started, or fails.
    """
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
    except OSError as error:
        raise CommandError(str(error)) from None
    try:
        # Not communicate(), which closes the input.
        out, problems = await asyncio.gather(_read(process.stdout), _read(process.stderr))
        code = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if code < 0:
        raise CommandError(f"the command was killed by signal {-code}")
    if code:
        raise CommandError(_last_line(problems).removeprefix("racebot: "))
    return _last_line(out)


async def _read(stream: asyncio.StreamReader | None) -> bytes:
    """Return the end of what a command prints."""
    kept = b""
    while stream is not None and (chunk := await stream.read(65536)):
        kept = (kept + chunk)[-65536:]
    return kept


def _last_line(output: bytes) -> str:
    return (output.decode(errors="replace").strip().splitlines() or [""])[-1]
