"""What Discord shows of a race, as the ledger has it. Hidden players are masked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urljoin

import numpy as np

from racebot.bot.links import board_page, race_page
from racebot.bot.room.announcements import masked, rank_changes
from racebot.chat.rating_message import RankChanges
from racebot.errors import RacebotError
from racebot.ledger.discord import Post
from racebot.ledger.rows import RATED_LATER
from racebot.ledger.store import Ledger
from racebot.queries.records import personal_bests
from racebot.queries.scores import league, scored
from racebot.ratings import registry
from racebot.ratings.forecast import win_chances
from racebot.scoring.table import Table
from racebot.settings.model import Settings
from racebot.standings.settle import RatedRace, Settler
from racebot.web.site.addresses import RACE_CARD


@dataclass(frozen=True, slots=True)
class RaceFacts:
    """A race on one leaderboard.

    Attributes:
        settled: whether the race counts already.
        winner: their user id; None if nobody won, or if they are hidden.
        chance: the winner's chance before the race.
        bests: the finishers who were never faster, by user id.
        table: the league's table, its last race this one, if scores order the leaderboard.
    """

    rated: RatedRace
    settled: bool
    ranks: RankChanges
    winner: str | None
    chance: float
    bests: Sequence[str]
    table: Table | None
    avatar: str | None
    board_page: str | None
    race_page: str | None
    card: str | None


def race_facts(ledger: Ledger, settings: Settings, post: Post) -> list[RaceFacts]:
    """Return what a post shows of its race, by leaderboard. Raise `RacebotError` if it is rated again."""
    stored = ledger.races.get(post.race)
    boards = ((board, ledger.ratings.get(board, post.race)) for board in ledger.leaderboards.all())
    rated = [RatedRace(b, stored.result, row.changes, row.note) for b, row in boards if row and stored]
    if stored is None and post.result is not None:
        rated = Settler(ledger, settings.rules()).preview(post.result)
    if any(each.note == RATED_LATER for each in rated):
        raise RacebotError(f"{post.race}: {RATED_LATER}")
    shown = [each for each in rated if settings.webhook_of(each.leaderboard) == post.webhook]
    return [_facts(ledger, settings, post, each, settled=stored is not None) for each in shown]


def _facts(ledger: Ledger, settings: Settings, post: Post, rated: RatedRace, *, settled: bool) -> RaceFacts:
    board, result = rated.leaderboard, rated.result
    model, states = registry.create(board.model, board.parameters), [each.before for each in rated.changes]
    chances = win_chances(model, np.array(states)).tolist() if states else []
    chance = dict(zip((each.player for each in rated.changes), chances, strict=True))
    bests = personal_bests(ledger, board, result) if board.id is not None else []
    rated, listing = masked(ledger, rated, settings.texts), settings.listing(board)
    winner = next((each.player for each in rated.changes if each.place == 1), None)
    ranks = rank_changes(ledger, rated, listing, settled=settled)
    rules, page = listing.scoring, race_page(settings, post.race) if settled else None
    table = None
    if scored(board, rated.result, rules) and rules and not listing.by_rating:
        table = league(ledger, board, rules, rated.result, before=result.name)
    avatar = winner and ledger.profiles.get(winner).avatar
    return RaceFacts(
        rated,
        settled,
        replace(ranks, moves=post.moves.get(result.fingerprint(), {}).get(board.name, {})),
        winner,
        chance[winner] if winner else 1.0,
        [player for player in bests if not ledger.orders.is_hidden(player)],
        table,
        avatar and urljoin(settings.site, avatar),
        board_page(settings, ledger, board),
        page,
        race_page(settings, post.race, RACE_CARD) if page and settings.pages_cards else None,
    )
