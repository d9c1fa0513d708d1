"""What Discord shows of a race, as the ledger has it now. Hidden players are masked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urljoin

import numpy as np

from racebot.bot.discord_embed import TITLE_LIMIT, Embed, names_line, upset_line
from racebot.bot.links import board_page, race_page
from racebot.bot.room.announcements import masked, rank_changes
from racebot.chat.format import chat_names, ordinal
from racebot.chat.rating_message import opening, players
from racebot.chat.scores import score_lines
from racebot.chat.wording import Texts
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
from racebot.text.format import exact_time, timer
from racebot.text.safe import in_markdown, plain
from racebot.web.site.addresses import RACE_CARD, room_address


def race_embeds(ledger: Ledger, settings: Settings, post: Post) -> list[Embed]:
    """Return what a post shows of its race: a part for each leaderboard of the channel, or its withdrawal.

    Nothing changes in a channel whose leaderboards all moved to others.

    Raises:
        RacebotError: the race is being rated again.
    """
    stored = ledger.races.get(post.race)
    rows = [(board, ledger.ratings.get(board, post.race)) for board in ledger.leaderboards.all()]
    rated = [RatedRace(b, stored.result, row.changes, row.note) for b, row in rows if row and stored]
    if stored is None and post.result is not None:
        rated = Settler(ledger, settings.rules()).preview(post.result)
    if any(each.note == RATED_LATER for each in rated):
        raise RacebotError(f"{post.race}: {RATED_LATER}")
    if not rated:
        url = room_address(settings.site, post.race) or None
        return [Embed(title=post.race, url=url, opening=[settings.texts.not_counted])] if post.message else []
    here = [each for each in rated if settings.webhook_of(each.leaderboard) == post.webhook]
    return [_embed(ledger, settings, post, each, settled=stored is not None) for each in here]


def _embed(ledger: Ledger, settings: Settings, post: Post, rated: RatedRace, *, settled: bool) -> Embed:
    texts, board, listing = settings.texts, rated.leaderboard, settings.listing(rated.leaderboard)
    shown, goal = masked(ledger, rated, texts), plain(board.name)
    lines = [texts.info.format(goal=goal) if settled else opening([rated], texts)]
    rules = listing.ordering
    if rules and scored(board, shown.result, rules):
        table = league(ledger, board, rules, shown.result, before=post.race)
        scores = texts.scores.format(leaderboard=goal, number=len(table.races))
        lines = [scores] if settled else [*lines, scores]
        entries = _scores(table, texts)
    else:
        moves = post.moves.get(shown.result.fingerprint(), {}).get(board.name, {})
        ranks = replace(rank_changes(ledger, shown, listing, settled=settled), moves=moves)
        own = texts.model_copy(update={"player": texts.discord_player})
        entries = [*players(shown, own, ranks, escape=in_markdown).values()] or [texts.no_changes]
    winner = next((each.player for each in shown.changes if each.place == 1), "")
    avatar = ledger.profiles.get(winner).avatar
    page = race_page(settings, post.race) if settled else None
    links = {texts.button_leaderboard: board_page(settings, ledger, board), texts.button_why: page}
    return Embed(
        title=f"{goal} · {post.race.rpartition('/')[2]}",
        url=room_address(settings.site, post.race) or page,
        page=page,
        board=board.name,
        opening=[in_markdown(line.strip(" :"), TITLE_LIMIT) for line in lines],
        entries=entries,
        closing=[
            " · ".join(filter(None, _notes(ledger, settings, rated, winner))),
            " · ".join(f"[{in_markdown(label)}]({to})" for label, to in links.items() if label and to),
        ],
        timestamp=exact_time(shown.result.ended_at),
        pictures={
            "thumbnail": avatar and urljoin(settings.site, avatar),
            "image": race_page(settings, post.race, RACE_CARD) if page and settings.pages_cards else None,
        },
    )


def _notes(ledger: Ledger, settings: Settings, rated: RatedRace, winner: str) -> Iterator[str]:
    """Yield the lines about an upset and personal bests."""
    board, texts = rated.leaderboard, settings.texts
    names = chat_names(rated.result.entrants, texts)
    for number, change in enumerate(rated.changes):
        if change.player == winner and change.races_before >= settings.provisional_races:
            model = registry.create(board.model, board.parameters)
            chances = win_chances(model, np.array([each.before for each in rated.changes]))
            yield upset_line(names[winner], float(chances[number]), texts)
    best = personal_bests(ledger, board, rated.result) if board.id is not None else []
    if shown := [names[player] for player in best if not ledger.orders.is_hidden(player)]:
        yield texts.discord_best.format(names=names_line(shown, texts))


def _scores(table: Table, texts: Texts) -> list[str]:
    """Return a line for each racer of a league's last race with the score, the place and the total."""
    race, names, more = table.races[-1], dict[str, str](), dict[str, dict[str, str]]()
    shown = chat_names(race.result.entrants, texts)
    for each in table.standings:
        if each.player in race.scores:
            time, total = race.scores[each.player].time, f"{each.total.score:.1f}"
            names[each.player] = in_markdown(shown[each.player])
            more[each.player] = {
                "time": f" · {timer(time)}" if time else "",
                "ordinal": ordinal(each.place, texts),
                "total": total,
            }
    return [*score_lines(race, names, texts.discord_score, more).values()]
