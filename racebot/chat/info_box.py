"""The final changes of a race for its page (`info_bot`) and for programs (`bot_meta`)."""

import json
from collections.abc import Mapping, Sequence
from itertools import islice

from racebot.chat.rating_message import by_place, players
from racebot.ledger.outbox import MetaEntry
from racebot.settings.texts import DEFAULT_TEXTS, Texts
from racebot.standings.settle import RatedRace
from racebot.text.safe import plain, visible, without_domains

INFO_LIMIT = 1000
MOST_ENTRIES = 8  # most entrants to list in the info box, which pushes the race's results down
META_LIMIT = 2048
META_KEY = "racebot"


def info_block(rated: RatedRace, texts: Texts = DEFAULT_TEXTS, page: str | None = None) -> str:
    """Return the final changes for the race page. Players after the first 8 are counted, not named.

    `page` is the address of the race's published page.
    """
    opening = texts.info.format(goal=without_domains(plain(rated.leaderboard.name)))
    parts = [without_domains(text) for text in players(rated, texts).values()]
    text = ""
    for shown in range(min(len(parts), MOST_ENTRIES), -1, -1):
        more = texts.more.format(count=len(parts) - shown) if shown < len(parts) else ""
        last = " ".join(filter(None, [more, texts.link.format(url=page) if page else ""]))
        text = opening + texts.separator.join(filter(None, [*parts[:shown], last]))
        if len(text) <= INFO_LIMIT:
            break
    return " ".join(text[:INFO_LIMIT].splitlines())


def merged_info(
    existing: str, blocks: Sequence[str], texts: Texts = DEFAULT_TEXTS, *, append: bool = True
) -> str | None:
    """Return the new text of `info_bot`, which all bots share, or None to leave it alone.

    `append`: whether to write below the lines of others where we have no line yet.

    A line is ours if it begins like `texts.info` or is `texts.not_counted`, as set or by default. Other lines
    are kept. Blocks that do not fit below them are left out.
    """
    own = (
        text.partition("{")[0] for each in (texts, DEFAULT_TEXTS) for text in (each.info, each.not_counted)
    )
    openings = tuple(filter(None, own))
    lines = existing.split("\n")
    foreign = [line for line in lines if not line.startswith(openings)]
    is_ours = len(foreign) < len(lines)
    while foreign and not foreign[-1].strip():
        foreign.pop()
    if foreign and not (append or is_ours):
        return None
    text = "\n".join(foreign)
    for block in blocks:
        longer = f"{text}\n{block}" if text else block
        if len(longer) <= INFO_LIMIT:
            text = longer
    return None if visible(text).rstrip() == visible(existing).rstrip() else text


def meta(existing: Mapping[str, object], boards: Sequence[MetaEntry]) -> dict[str, object]:
    """Return our key of `bot_meta` as JSON for `setmeta`, with one entry per leaderboard.

    Changes that exceed the site's limit are dropped from the end and counted in `omitted`. The site merges
    key by key, so other keys of the `existing` value stay and take up space.
    """
    others = {key: value for key, value in existing.items() if key != META_KEY}
    kept = [len(board.changes) for board in boards]
    while True:
        entries = [_as_json(board, count) for board, count in zip(boards, kept, strict=True)]
        if len(json.dumps({**others, META_KEY: entries}).encode()) <= META_LIMIT:
            return {META_KEY: entries}
        if not any(kept):
            return {META_KEY: []}
        kept[kept.index(max(kept))] -= 1


def meta_entry(rated: RatedRace) -> MetaEntry:
    """Return one leaderboard's final changes for programs."""
    changes = {c.player: (c.points_before, c.points_after) for c in by_place(rated.changes)}
    return MetaEntry(rated.leaderboard.name, rated.leaderboard.model, changes)


def _as_json(board: MetaEntry, count: int) -> dict[str, object]:
    """Return an entry with its first `count` changes as JSON."""
    changes = {player: list(points) for player, points in islice(board.changes.items(), count)}
    omitted = {"omitted": len(board.changes) - count} if count < len(board.changes) else {}
    return {"leaderboard": board.leaderboard, "model": board.model, "changes": changes, **omitted}
