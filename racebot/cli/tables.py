"""Print reports as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from racebot.cli.common import tell
from racebot.ratings.parameters import ParameterValue
from racebot.text.format import counted, gap, minute, signed, span
from racebot.text.safe import printable

if TYPE_CHECKING:  # a command loads only the reports that it prints
    from racebot.bot.status import Status
    from racebot.ledger.rows import Leaderboard
    from racebot.queries.leaderboard import LeaderboardReport
    from racebot.queries.player import PlayerReport
    from racebot.queries.race import RaceReport
    from racebot.queries.scores import LeagueTable
    from racebot.scoring.rules import Rules
    from racebot.standings.improve import Move

NO_BOARDS = "No leaderboards yet: no race has been rated."
STATUS_LINES = 20  # most entries that `status` lists per heading


def print_leaderboard(console: Console, report: LeaderboardReport, limit: int | None = None) -> None:
    """Print the first `limit` players of a leaderboard."""
    title = f"{report.leaderboard} ({report.model})"
    races = counted(report.races, "race")
    if not report.players:
        if not report.everybody:
            tell(f"{title}: no race rated yet", to=console)
            return
        needed = f": each needs {counted(report.minimum_finishes, 'finish', 'finishes')}"
        reason = needed if report.minimum_finishes and not report.inactive_days else ""
        tell(f"{title}: {races}, no player listed{reason}", to=console)
        return
    columns = (">", ">Points", ">Races", ">Finished", ">Won", "Player")
    rows = ((p.place, p.points, p.races, p.finishes, p.wins, p.name) for p in report.players[:limit])
    print_rows(console, title, columns, rows)
    rest = f"; the first {limit} shown" if limit is not None and limit < len(report.players) else ""
    console.print(f"{races}, {counted(len(report.players), 'player')}{rest}")


def print_scores(
    console: Console, title: str, rules: Rules, league: LeagueTable, limit: int | None = None
) -> None:
    """Print a league's racers by score, what each needs to qualify, and the rules."""
    needs = ["To qualify"] if rules.cut else []
    rows: list[Sequence[object]] = []
    for row in league.racers[:limit]:
        marks = [f"{s['score']:.1f}" if s["counted"] else f"({s['score']:.1f})" for s in row.scores if s]
        score = Text(f"{row.score:.3f}" + (f"\n{row.division}" if row.division else ""))
        words = [row.outlook.words] if row.outlook else []
        rows.append((row.place, row.name, score, *words, " ".join(marks)))
    print_rows(console, title, (">", "Player", ">Score", *needs, "Races (dropped)"), rows)
    console.print(safe(f"{rules.words}."))


def print_proposal(console: Console, board: Leaderboard, new: Leaderboard, effect: Sequence[Move]) -> None:
    """Print the parameters that change for a leaderboard, and the effect on its players."""
    model = board.model if board.model == new.model else f"{board.model} → {new.model}"
    console.print(f"{safe(board.name)} ({model})", style="bold")
    before, after = board.parameters, new.parameters
    pairs = ((name, before.get(name), after.get(name)) for name in dict.fromkeys([*before, *after]))
    changes = (f"{name} {_value(old)} → {_value(now)}" for name, old, now in pairs if old != now)
    console.print(escape(", ".join(changes)), soft_wrap=True)

    def distance(move: Move) -> tuple[int, int, str]:
        places, points = move.place_after - move.place_before, move.points_after - move.points_before
        return -abs(places), -abs(points), move.name

    moved = [move for move in sorted(effect, key=distance)[:10] if move.place_after != move.place_before]
    for title, moves in (
        ("First ten now", sorted(effect, key=attrgetter("place_before"))[:10]),
        ("First ten then", sorted(effect, key=attrgetter("place_after"))[:10]),
        ("Largest moves", moved),
    ):
        rows = ((m.name, m.place_before, m.place_after, m.points_before, m.points_after) for m in moves)
        print_rows(console, title, ("Player", ">Place", ">then", ">Points", ">then"), rows)


def print_status(console: Console, report: Status) -> None:
    """Print the state of the worker."""
    since = report.seconds_since
    seen = "has never seen its category" if since is None else f"last saw its category {span(since)} ago"
    console.print(f"racebot is {'running' if report.running else 'not running'}; it {seen}")
    for slug in report.read_only:
        tell(f"category {slug} is only read: it has no client id and secret", to=console)
    for slug, reason in report.suspended.items():
        tell(f"category {slug} is suspended: {reason}", to=console)
    made = report.last_backup
    tell(f"{report.database}, {f'last backup {minute(made)} UTC' if made else 'no backup yet'}", to=console)
    lines = {
        "Leaderboards": report.leaderboards,
        "Open race rooms": report.rooms,
        "Finished, to be counted": report.pending,
        "Messages to deliver": report.outbox,
        "Messages to Discord": report.discord,
        "Failing, to be tried again": report.failures,
        "Rebuilds": report.rebuilds,
    }
    for heading, entries in lines.items():
        console.print(f"{heading}: {len(entries) or 'none'}")
        for entry in entries[:STATUS_LINES]:
            tell(f"  {entry}", to=console)
        if len(entries) > STATUS_LINES:
            console.print(f"  and {len(entries) - STATUS_LINES} more")


def print_player(console: Console, report: PlayerReport) -> None:
    """Print a player's standings and last races."""
    console.print(f"[bold]{safe(report.name)}[/bold] ({safe(report.id)})")
    if not report.leaderboards:
        console.print("none of this player's races has been rated yet")
    for on_board in report.leaderboards:
        board = on_board.standing
        place = f"place {board.place} of {board.listed}" if board.place else "not listed"
        console.print(
            f"\n{safe(board.leaderboard)}: [bold]{board.points}[/bold] points, {place}, "
            f"{counted(board.races, 'race')}, {board.finishes} finished, {board.wins} won"
        )
        rows: list[Sequence[object]] = []
        for race in on_board.history:
            ended, place = f"{race.ended_at.astimezone(UTC):%Y-%m-%d}", f"{race.standing} of {race.entrants}"
            points = f"{race.before}→{race.after}", _change(race.change)
            rows.append((race.race.rpartition("/")[2], ended, place, *points))
        print_rows(console, None, ("Race", "Ended", ">Place", ">Points", ">Change"), rows)


def print_race(console: Console, report: RaceReport) -> None:
    """Print how a race changed each rating, and why."""
    from racebot.queries.race import RatedEntrant

    ended = minute(report.ended_at)
    console.print(f"[bold]{safe(report.race)}[/bold]  {safe(report.goal)}, ended {ended} UTC")
    for each in report.result:
        if each.penalty:
            reason = safe(each.penalty_reason or "")
            console.print(f"penalty: {safe(each.name)} {gap(each.penalty)}: {reason}")
    if not report.leaderboards:
        console.print("This race is stored, but counts on no leaderboard.")
    for board in report.leaderboards:
        console.print(f"\n{safe(board.leaderboard)} ({board.model}), race {board.sequence}")
        if board.note:
            console.print(f"no rating changed: {board.note}")
            continue
        rows: list[Sequence[object]] = []
        reasons = Table.grid(padding=(0, 1))
        reasons.add_column(justify="right")
        for entrant in board.placed:
            name = safe(entrant.name)
            if not isinstance(entrant, RatedEntrant):
                rows.append((entrant.standing, entrant.name, "not rated"))
                continue
            points, change = f"{entrant.before}→{entrant.after}", _change(entrant.change)
            shown = f"{entrant.name} (new)" if entrant.first_race else entrant.name
            ranked = entrant.place is not None  # others are not compared with finishers
            places = (f"{entrant.expected:.1f}", f"{entrant.actual:g}") if ranked else ()
            rows.append((entrant.standing, shown, points, change, *places))
            reasons.add_row(entrant.standing, f"[bold]{name}[/bold]: {safe('; '.join(entrant.reasons))}")
        print_rows(console, None, (">", "Player", ">Points", ">Change", ">Expected", ">Actual"), rows)
        console.print(reasons, end="\n\n")
        console.print(
            "Expected and actual are places among the rated entrants; tied entrants share their mean place. "
            "If the model rates finishing separately, finishers are compared with finishers only."
        )


class RoomRow(NamedTuple):
    """Whether a room fails to count on a leaderboard, and why."""

    leaderboard: str
    fails: bool
    why: str
    room: str
    goal: str


def print_rooms(console: Console, rows: Sequence[RoomRow]) -> None:
    """Print for each leaderboard which rooms count, and the others by what they fail."""
    for board in dict.fromkeys(row.leaderboard for row in rows):
        own = [row for row in rows if row.leaderboard == board]
        count = sum(not row.fails for row in own)
        console.print(f"[bold]{safe(board)}[/bold]: {count} of {counted(len(own), 'room')} count")
        verdict = attrgetter("fails", "why")
        for (fails, why), alike in groupby(sorted(own, key=verdict), key=verdict):
            names = [f"{row.room}  {safe(row.goal)}" for row in alike]
            if fails:
                rest = f" and {len(names) - 1} more" if len(names) > 1 else ""
                names = [names[0].partition(" ")[0] + rest]
            for each in names:
                console.print(f"  {'no ' if fails else 'yes'}  {each}", soft_wrap=True)
            console.print(Padding(safe(why), (0, 0, 0, 7)))
    if not rows:
        console.print("no rooms: none is open, and none is past in these days (--since shows older ones)")


def print_rows(
    console: Console,
    title: str | None,
    headings: Iterable[str],
    rows: Iterable[Iterable[object]],
    end: str = "\n",
    **style: Any,
) -> None:
    """Print a table. A heading that begins with > aligns its column to the right, unwrapped.

    A cell is a `Text`, or anything else whose text is shown without markup.
    """
    made = Table(title=title and safe(title), title_justify="left", **({"box": SIMPLE_HEAD} | style))
    for heading in headings:
        if heading.startswith(">"):
            made.add_column(heading[1:], justify="right", no_wrap=True)
        else:
            made.add_column(heading, overflow="fold")
    for row in rows:
        cells = (each if isinstance(each, Text) else safe(str("" if each is None else each)) for each in row)
        made.add_row(*cells)
    console.print(made, end=end)


def safe(text: str) -> str:
    """Escape markup and terminal control characters in text from users."""
    return escape(printable(text))


def _change(points: int) -> Text:
    return Text.assemble((signed(points), "green" if points > 0 else "red" if points < 0 else ""))


def _value(value: ParameterValue) -> str:
    return f"{value:g}" if isinstance(value, float) else "none" if value is None else str(value)
