"""Ask questions in a terminal, and ask again until the answer is usable."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import typer
from rich.prompt import Prompt
from rich.text import Text

from racebot.cli.common import console
from racebot.errors import RacebotError
from racebot.text.safe import printable

T = TypeVar("T")


def say(text: str = "", *, style: str = "") -> None:
    """Print a paragraph, wrapped at the width of the terminal."""
    console.print(Text(printable(text), style))


def heading(number: int, total: int, title: str) -> None:
    """Print the heading of a step."""
    say()
    say(f"{number} of {total}  {title}", style="bold")


def confirmed(text: str) -> None:
    """Say that an answer is right."""
    console.print(Text.assemble(("ok  ", "green"), printable(text)))


def ask(
    question: str,
    check: Callable[[str], T],
    *,
    given: str | None = None,
    default: str = "",
    shown: str | None = None,
    hidden: bool = False,
    interactive: bool = True,
) -> T:
    """Ask until `check` accepts the answer, and return the value that it makes of the answer.

    Args:
        question: the question, without a question mark or colon at its end.
        check: turns the answer into a value, or raises a RacebotError that says what is wrong.
        given: an answer from the command line, which is used in place of the first question.
        default: the answer of a user who just presses Enter.
        shown: how to show the default; by default, as it is.
        hidden: whether to hide what the user types.
        interactive: False to use `given` or the default, and to fail if it is not accepted.

    Raises:
        RacebotError: the check failed, and nobody can be asked.
    """
    answer = given
    while True:
        if answer is None:
            answer = _typed(question, default, shown, hidden=hidden) if interactive else default
        try:
            return check(answer.strip())
        except RacebotError as error:
            if not interactive:
                raise
            say(f"    {error}", style="red")
        answer = None


def agree(question: str, *, default: bool) -> bool:
    """Ask a question with yes or no as its answer."""
    try:
        return typer.confirm(question, default=default)
    except typer.Abort:  # Ctrl-C or Ctrl-D
        raise KeyboardInterrupt from None


def pick(question: str, count: int) -> list[int]:
    """Ask for numbers between 1 and `count`. An empty answer means all of them, and returns an empty list."""
    return ask(question, lambda answer: numbers(answer, count), shown="all")


def numbers(answer: str, count: int) -> list[int]:
    """Read numbers such as `1, 3-5`.

    Raises:
        RacebotError: it is not a list of numbers between 1 and `count`.
    """
    found: list[int] = []
    for word in re.split(r"[\s,;]+", answer.strip()):
        if not word or word == "all":
            continue
        ends = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", word)
        span = range(int(ends[1]), int(ends[2] or ends[1]) + 1) if ends else range(0)
        if not span or not all(1 <= number <= count for number in span):
            raise RacebotError(f"Type numbers from 1 to {count}, such as 1 or 1, 2; or press Enter for all.")
        found += [number for number in span if number not in found]
    return found


def listed(items: Sequence[str]) -> None:
    """Print a numbered list."""
    for number, item in enumerate(items, start=1):
        say(f"{number:>4}  {item}")


def _typed(question: str, default: str, shown: str | None, *, hidden: bool) -> str:
    note = default if shown is None else shown
    prompt = Text.assemble(question, (f" [{note}]", "cyan") if note else "")
    with _ended_by_either_key():
        answer = Prompt.ask(
            prompt, console=console, password=hidden, default=default, show_default=False, show_choices=False
        )
    return answer or default


@contextmanager
def _ended_by_either_key() -> Generator[None]:
    """Treat Ctrl-D, which ends the input, like Ctrl-C."""
    try:
        yield
    except EOFError:
        raise KeyboardInterrupt from None
