"""Addresses of published pages, and the buttons that open them."""

from __future__ import annotations

from racebot.chat.commands import Command
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.settings.model import Settings
from racebot.web.addresses import RACE, SEARCH, board_addresses


def board_page(settings: Settings, ledger: Ledger, board: Leaderboard, *players: str) -> str | None:
    """Return the address of a leaderboard's published page, or of the comparison of two players there.

    Returns None if the leaderboard has no page, or one of the players is hidden.
    """
    boards = ledger.leaderboards()
    if settings.pages_url is None or board not in boards or any(map(ledger.orders.is_hidden, players)):
        return None
    address = board_addresses(boards)[boards.index(board)]
    return f"{settings.pages_url}/{address.comparison(*players) if players else address.page()}"


def race_page(settings: Settings, race: str) -> str | None:
    """Return the address of a race's published page, None if no pages are published."""
    return None if settings.pages_url is None else f"{settings.pages_url}/{RACE.path(race=race)}"


def rating_buttons(
    settings: Settings, ledger: Ledger, board: Leaderboard, race: str
) -> dict[str, dict[str, str]]:
    """Return the buttons of a race's rating message on a leaderboard.

    All readers share them, so with pages "My rating" opens the search for players.
    """
    if settings.pages_url is None:
        return settings.buttons({})
    return settings.buttons(
        {
            Command.RATING: f"{settings.pages_url}/{SEARCH.path()}",
            Command.WHY: race_page(settings, race),
            Command.LEADERBOARD: board_page(settings, ledger, board),
        }
    )
