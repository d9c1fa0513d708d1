"""Addresses of the published pages that chat links, and the buttons that open them."""

from racebot.addresses import RACE, SEARCH, BoardAddress, Route, address_among
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.settings.commands import Command
from racebot.settings.model import Settings


def board_page(settings: Settings, ledger: Ledger, board: Leaderboard) -> str | None:
    """Return the address of a leaderboard's published page, or None if it has none."""
    address = _address(settings, ledger, board)
    return None if address is None else f"{settings.pages_url}/{address.page()}"


def comparison_page(
    settings: Settings, ledger: Ledger, board: Leaderboard, player: str, other: str
) -> str | None:
    """Return the address of two players' comparison, None without a page or if one of them is hidden."""
    address = _address(settings, ledger, board)
    if address is None or any(map(ledger.people.is_hidden, (player, other))):
        return None
    return f"{settings.pages_url}/{address.comparison(player, other)}"


def _address(settings: Settings, ledger: Ledger, board: Leaderboard) -> BoardAddress | None:
    """Return the address of a leaderboard below that of the published pages, or None if it has no page."""
    return None if settings.pages_url is None else address_among(ledger.leaderboards.all(), board)


def race_page(settings: Settings, race: str, route: Route = RACE) -> str | None:
    """Return the address of a race's published page or picture, None if no pages are published."""
    return None if settings.pages_url is None else f"{settings.pages_url}/{route.path(race=race)}"


def rating_buttons(
    settings: Settings, ledger: Ledger, board: Leaderboard, race: str
) -> dict[str, dict[str, str]]:
    """Return the buttons of a race's rating message on a leaderboard, in the site's format.

    A button opens a page if there is one, since it then works after the record, too. All readers share the
    buttons, so "My rating" opens the search for players, which offers those of the race first and leads a
    reader who chose themselves there to their own page.
    """
    texts = settings.texts
    search = None if settings.pages_url is None else f"{settings.pages_url}/{SEARCH.path()}?race={race}#me"
    buttons = {}
    for label, page, command in (
        (texts.button_rating, search, Command.RATING),
        (texts.button_why, race_page(settings, race), Command.WHY),
        (texts.button_leaderboard, board_page(settings, ledger, board), Command.LEADERBOARD),
    ):
        if label and page is not None:
            buttons[label] = {"url": page}
        elif label and settings.commands:
            buttons[label] = {"message": settings.command_prefix + command}
    return buttons
