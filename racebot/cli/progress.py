"""Progress bars on standard error."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from racebot.cli.common import notices
from racebot.text.safe import printable


class Advance(Protocol):
    """Updates a task's progress bar; the first call adds it. `detail` is a text to the right of the bar."""

    def __call__(self, what: str, done: float, total: float | None, detail: str = "") -> None: ...


@contextmanager
def progress_bars(*, transient: bool = False) -> Generator[Advance]:
    """Show progress bars while the block runs.

    Args:
        transient: whether the bars disappear at the end; they are then shown in a terminal only.
    """
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[detail]}"),
        TimeElapsedColumn(),
    )
    hidden = transient and not notices.is_terminal
    with Progress(*columns, console=notices, transient=transient, disable=hidden) as progress:
        tasks: dict[str, TaskID] = {}

        def advance(what: str, done: float, total: float | None, detail: str = "") -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(printable(what), detail=detail)
            progress.update(tasks[what], completed=done, total=total, detail=detail)

        yield advance
