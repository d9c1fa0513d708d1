"""Formats names, numbers and dates for the pages."""

from datetime import UTC, date, datetime

from racebot.queries.player import PlayedRace
from racebot.queries.races import RaceRow
from racebot.queries.records import PodiumPlace
from racebot.text.format import gap, integer, percentage
from racebot.text.parse import fold_name
from racebot.text.safe import isolated, printable


def shown_name(name: str, limit: int = 60) -> str:
    """Return a name from the site without invisible characters, cut to `limit` characters."""
    visible = printable(name).strip() or "?"
    return visible if len(visible) <= limit else visible[: limit - 1] + "…"


def plain_name(name: str, limit: int = 60) -> str:
    """Return a name as `shown_name` does, for text without markup: titles, descriptions and feeds."""
    return isolated(shown_name(name, limit))


def latin(name: str) -> str:
    """Return a name with other letters as a search folds it, which scripts cannot do: `soren` for Søren."""
    return "" if name.isascii() else fold_name(name)


def day(moment: date) -> str:
    """Format a date, or the date of a time in UTC, as in 3 May 2026."""
    shown = moment.astimezone(UTC) if isinstance(moment, datetime) else moment
    return f"{shown.day} {shown:%b %Y}"


def minute(moment: datetime) -> str:
    """Format a date with its time, as in 3 May 2026, 14:05 UTC."""
    return f"{day(moment)}, {clock(moment)}"


def clock(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%H:%M} UTC"


def margin(seconds: float) -> str:
    """Format the time between two finishes of a close race, as in 0.4 s or 1:05."""
    return f"{seconds:.1f} s" if seconds < 60 else gap(seconds).removeprefix("+")


def percent(share: float, digits: int = 0) -> str:
    return f"{percentage(share, digits)}%"


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def slug(race: str) -> str:
    """Return the slug of a race: its name without the category."""
    return shown_name(race.rpartition("/")[2])


def standing(race: PlayedRace) -> str:
    """Return a place among all entrants, as in "3 of 5", or the reason for having none, as in "DNF"."""
    return race.standing if race.place is None else f"{race.standing} of {race.entrants}"


def race_title(race: RaceRow) -> str:
    """Describe the result of a race, as in "Ann won clever-kraid-1234, 3 of 5 finished"."""
    winners = ", ".join(plain_name(winner.name) for winner in race.winners)
    if race.note or not winners:
        return f"{slug(race.race)}: {race.note or 'nobody finished'}"
    return f"{winners} won {slug(race.race)}, {race.finishers} of {race.entrants} finished"


def total(place: PodiumPlace) -> str:
    """Return the points of a player on the podium, or the score, as in 1,190 or 99.4."""
    return integer(round(place.total)) if place.wins is not None else f"{place.total:.1f}"


def host(address: str) -> str:
    return address.partition("://")[2]


def sign(number: int) -> str:
    """Return the CSS class that colors a change. The sign carries the same meaning as the color."""
    return "gain" if number > 0 else "loss" if number < 0 else "same"
