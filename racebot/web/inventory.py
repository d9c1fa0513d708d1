"""All files of an export."""

from __future__ import annotations

from collections.abc import Iterator

from racebot.web import addresses, templating
from racebot.web.pages import older_race_pages
from racebot.web.view import View


def paths(view: View) -> Iterator[str]:
    """Yield the path of every file that an export writes."""
    yield from (route.path() for route in (addresses.FRONT, addresses.ALL_DATA, addresses.OPENAPI))
    yield addresses.NO_JEKYLL
    yield from templating.ASSETS
    for board in view.boards:
        address = board.address
        listed = len(view.report(board).players)
        yield from (address.page(n + 1) for n in range(max(1, -(-listed // addresses.PAGE_SIZE))))
        yield address.races()
        rated = view.ledger.rated_count(board.stored)
        yield from (address.races(n + 1) for n in range(older_race_pages(rated)))
        yield from (address.explained, address.data, address.races_data)
        yield from (address.sheet, address.changes_sheet)
        for standing in view.ledger.standings(board.stored):
            yield from (address.player(standing.player), address.player_data(standing.player))
    for player in view.ledger.pages.players():
        yield from (addresses.PLAYER.path(player=player.id), addresses.PLAYER_DATA.path(player=player.id))
    for race in view.ledger.pages.race_names():
        yield from (addresses.RACE.path(race=race), addresses.RACE_DATA.path(race=race))
