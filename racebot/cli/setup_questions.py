"""Ask the questions of `racebot setup` in a terminal, and check the answers against the site."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import TypeVar
from urllib.parse import urlsplit

import typer
from pydantic import SecretStr
from rich.prompt import Prompt
from rich.text import Text

from racebot.cli.common import console
from racebot.errors import CredentialsError, NotFoundError, RacebotError, SiteError
from racebot.racetime.client import Credentials, Site
from racebot.racetime.payload import Category
from racebot.text.safe import printable

T = TypeVar("T")

STEPS = 5


def say(text: str = "", *, style: str = "") -> None:
    """Print a paragraph, wrapped at the width of the terminal."""
    console.print(Text("\n".join(map(printable, text.split("\n"))), style))


def heading(number: int, title: str) -> None:
    """Print the heading of a step."""
    say(f"\n{number} of {STEPS}  {title}", style="bold")


def confirm(text: str) -> None:
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
) -> T:
    """Ask until `check` accepts the answer, and return the value that it makes of the answer.

    Args:
        check: turns the answer into a value, or raises a RacebotError that says what is wrong.
        given: an answer from the command line, which is used in place of the first question.
        default: the answer of a user who just presses Enter, shown as it is or as `shown`.
        hidden: whether to hide what the user types.
    """
    note = default if shown is None else shown
    prompt = Text.assemble(question, (f" [{note}]", "cyan") if note else "")
    while True:
        try:
            typed = given or Prompt.ask(
                prompt, console=console, password=hidden, default=default, show_default=False
            )
            return check((typed or "").strip() or default)
        except EOFError:  # Ctrl-D
            raise KeyboardInterrupt from None
        except RacebotError as error:
            say(f"    {error}", style="red")
            given = None


def agree(question: str, *, default: bool) -> bool:
    """Ask a question with yes or no as its answer."""
    try:
        return typer.confirm(question, default=default)
    except typer.Abort:  # Ctrl-C or Ctrl-D
        raise KeyboardInterrupt from None


def not_empty(answer: str) -> str:
    if not answer:
        raise RacebotError("This cannot be empty.")
    return answer


def numbers(answer: str, count: int) -> list[int]:
    """Read numbers from 1 to `count`, such as `1, 3-5`. An empty answer, for all, is an empty list."""
    found: list[int] = []
    for word in re.findall(r"[^\s,;]+", answer.replace("all", "")):
        ends = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", word)
        span = range(int(ends[1]), int(ends[2] or ends[1]) + 1) if ends else range(0)
        if not span or not all(1 <= number <= count for number in span):
            raise RacebotError(f"Type numbers from 1 to {count}, such as 1 or 1, 2; or press Enter for all.")
        found += [number for number in span if number not in found]
    return found


def find_category(site_url: str, answer: str) -> Category:
    """Return the category with this slug or address."""
    slug = urlsplit(answer).path.strip("/").partition("/")[0] if "://" in answer else answer.strip("/")
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", slug := slug.lower()):
        raise RacebotError(f"Type the end of the category's address, such as smr for {site_url}/smr.")
    try:
        return _answer_of(site_url, lambda site: site.category(slug))
    except NotFoundError:
        raise RacebotError(f"{site_url} has no category {slug!r}. Check the spelling.") from None


def check_bot(site_url: str, slug: str, client_id: str, client_secret: str) -> None:
    """Check that these are the credentials of a bot of this category."""
    try:
        token, _ = _answer_of(
            site_url, lambda site: site.token(Credentials(client_id, SecretStr(client_secret)))
        )
    except CredentialsError:
        raise RacebotError(
            f"The site refuses this secret for client id {client_id!r}. Copy both again."
        ) from None
    try:
        _answer_of(site_url, lambda site: site.category(slug, token))
    except CredentialsError:
        raise RacebotError(
            f"This bot belongs to another category. Ask an owner of {slug} to create one."
        ) from None


def _answer_of(site_url: str, question: Callable[[Site], Awaitable[T]]) -> T:
    """Ask the site, twice at most. Refusals raise the client's errors."""

    async def answer() -> T:
        async with Site(site_url, attempts=2) as site:
            return await question(site)

    try:
        return asyncio.run(answer())
    except (CredentialsError, NotFoundError):
        raise
    except SiteError as error:
        raise RacebotError(f"The site does not answer ({error}). Check the network and try again.") from None
