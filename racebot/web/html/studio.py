"""The overlay studio: each overlay in each stage of an invented race, with its options and its address."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from urllib.parse import urlencode

from racebot.queries.live import LiveBoard, LiveEntrant, LiveRoom
from racebot.races.result import EntrantStatus
from racebot.web.html import live, templating
from racebot.web.site import addresses
from racebot.web.site.addresses import link
from racebot.web.site.request import Content, Document, PageRequest

STAGES = ("open", "racing", "finished", "recorded")
OVERLAYS = {"room": "Room of a category", "player-room": "Room of a player", "player": "Rating of a player"}
"""The kinds of overlay that move on by themselves, by query parameter, with their names."""
SOURCES = {"part": "its own part of the scene", "scene": "the whole scene, 1920 × 1080"}
"""The sizes of a source, by query parameter: as the docs suggest for each overlay, or the whole picture."""
NUMBERS = {
    "size": ("Size of the text, %", 100, live.LEAST_SIZE, live.MOST_SIZE),
    "width": ("Width in the source, %", 100, live.LEAST_WIDTH, 100),
    "rows": ("Most rows", live.ROWS, 1, live.MOST_ROWS),
    "delay": ("Delay, seconds", 0, 0, live.MOST_DELAY),
}
"""The options that are numbers, with their label, default, least and most."""
INVENTED = (
    ("Moss", 1712, 0.16, 2911.0, 31, (4, 2)),
    ("Fern", 1850, 0.37, 2954.0, 4, (1, 1)),
    ("Little Wren", 1604, 0.09, 3020.5, 17, (7, 6)),
    ("Otto", 1741, 0.20, 3188.0, -9, (2, 4)),
    ("Ida", 1655, 0.12, 3402.0, -14, (5, 7)),
    ("Juno", 1540, 0.06, None, -29, (9, 9)),
)
"""Racers in the order of the result: name, points, chance to win, finish time, change, places."""
RATED = "Otto"
"""The racer of the overlays of a player."""


def studio(request: PageRequest) -> Content:
    """Render the studio. The fields of its form are the query, so it works without scripts."""
    view, query = request.view, {name: value for name, value in request.query.items() if value}
    kind = query.get("overlay", "room")
    if kind not in OVERLAYS or query.get("source", "part") not in SOURCES:
        raise addresses.BadQueryError("overlay, source: must be one of the choices of this page's form")
    defaults = {**live.COLORS, **{name: next(iter(sides)) for name, sides in live.SIDES.items()}}
    defaults |= {name: str(default) for name, (_, default, *_) in NUMBERS.items()}
    given = {name: value.removeprefix("#") for name, value in live.options(query).items()}
    chosen = {name: value for name, value in given.items() if value != defaults.get(name)}
    text = query.get("player", "").strip()[:100]
    named = view.rated_players.get(text) if text not in view.hidden else None
    player = named or next(iter(view.players_meant(text)), None)
    categories = {board.category: view.category_face(board.category).name for board in view.boards}
    category = query.get("category", next(iter(categories), "-"))
    identity = player.id if player else "ID"
    route = addresses.OVERLAY_PLAYER if kind == "player" else addresses.OVERLAY_PLAYER_ROOM
    found = addresses.OVERLAY_ROOM.path(race=category) if kind == "room" else route.path(player=identity)
    shown = {name: value for name, value in chosen.items() if name not in {"delay", "board"}}
    sample = urlencode({"overlay": kind, **shown})
    return templating.page(
        request,
        "overlays.html",
        kind=kind,
        overlays=OVERLAYS,
        sources=SOURCES,
        source=query.get("source", "part"),
        categories=categories,
        category=category,
        text=text,
        player=player,
        boards=view.boards,
        values={"board": "", **defaults, **given},
        numbers=NUMBERS,
        sides=live.SIDES,
        colors=live.COLORS,
        changed=not live.COLORS.keys().isdisjoint(chosen),
        options=f"?{urlencode(chosen)}" if chosen else "",
        address=found.removesuffix(".html"),
        samples={
            stage: f"{link(request.path, addresses.OVERLAY_SAMPLE.path(stage=stage))}?{sample}"
            for stage in STAGES
        },
    )


def sample(request: PageRequest, stage: str) -> Document:
    """Render an overlay as it is in one stage of the invented race, with the templates of the real ones."""
    room = _room(stage)
    entrants = room.leaderboards[0].entrants
    if request.query.get("overlay") != "player":
        heading = {"open": "odds", "finished": "provisional", "recorded": "final"}.get(stage, stage)
        body = live.race_table(request, room.race, room, entrants, heading)
        return live.shell(request, "room", body)
    racer = next(each for each in entrants if each.name == RATED)
    before, after = INVENTED[[name for name, *_ in INVENTED].index(RATED)][-1]
    recorded = stage == "recorded"
    body = templating.render(
        "overlay_player.html",
        request.path,
        standing=SimpleNamespace(
            name=RATED, points=racer.after or racer.points, place=after if recorded else before, listed=82
        ),
        live=None if recorded else racer,
        change=racer.change,
        moved=(before, after) if stage == "finished" else None,
        started=stage != "open",
    )
    return live.shell(request, "player", body)


def _room(stage: str) -> LiveRoom:
    finishers = {"open": 0, "racing": 2}.get(stage, len(INVENTED))
    over = finishers == len(INVENTED)
    entrants = []
    for number, (name, points, chance, time, change, _) in enumerate(INVENTED, start=1):
        done = number <= finishers
        ended = EntrantStatus.DONE if time else EntrantStatus.DNF
        entrants.append(
            LiveEntrant(
                id=name,
                name=name,
                status=ended if done else EntrantStatus.RACING,
                place=number if done and time else None,
                finish_time=time if done else None,
                points=points,
                new=False,
                win_chance=chance,
                finish_chance=None,
                after=points + change if over else None,
                change=change if over else None,
            )
        )
    entrants.sort(key=lambda each: (each.place or finishers + 1, 0.0 if over else -(each.win_chance or 0)))
    status = {"racing": "in_progress", "open": "open"}.get(stage, "finished")
    now = datetime.now(UTC)
    started_at = None if stage == "open" else now - timedelta(seconds=2990)
    board = LiveBoard(None, "", tuple(entrants))
    return LiveRoom("sample/lucky-heron-1234", "sample", "", status, now, started_at, None, now, (board,))
