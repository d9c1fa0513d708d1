"""Results of well-known programs and sites as records, one for each entrant, with our names of columns.

Each reader knows one form by its structure. What has none of these forms is a list of records of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

from racebot.errors import PayloadError

Record = dict[str, Any]
RACE_SESSIONS = {"race", "r", "6", "feature", "sprint", "heat race"}
"""Words for a session that is a race, rather than practice or qualifying."""
NO_TIME = 2**31 - 1


def get(document: Any, path: str) -> Any:
    """Return what stands below the keys of a dotted path, or None."""
    for key in path.split("."):
        document = document.get(key) if isinstance(document, Mapping) else None
    return document


def each(document: Any, path: str) -> list[Any]:
    """Return the objects of the list below a dotted path."""
    found = get(document, path) if path else document
    return [item for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []


def ergast(document: Any) -> Iterator[Record]:
    """Formula 1 of Ergast and jolpica: https://github.com/jolpica/jolpica-f1/blob/main/docs/endpoints/results.md."""
    for race in each(document, "MRData.RaceTable.Races"):
        for entrant in each(race, "Results") or each(race, "SprintResults"):
            yield {
                "race": f"{race.get('season')} {race.get('round')} {race.get('raceName')}",
                "ended_at": race.get("date"),
                "player": get(entrant, "Driver.driverId"),
                "name": f"{get(entrant, 'Driver.givenName')} {get(entrant, 'Driver.familyName')}",
                "place": entrant.get("position"),
                "positionText": entrant.get("positionText"),
                "team": get(entrant, "Constructor.name"),
            }


def iracing(document: Any) -> Iterator[Record]:
    """iRacing's exported results, whose places begin at 0: https://members-ng.iracing.com/data/doc/results."""
    document = get(document, "data") or document
    for session in each(document, "session_results"):
        if (
            str(session.get("simsession_name", session.get("simsession_type_name", ""))).lower()
            in RACE_SESSIONS
        ):
            for entrant in each(session, "results"):
                place = entrant.get("finish_position")
                yield {
                    "race": f"{get(document, 'track.track_name')} {document.get('subsession_id')}",
                    "ended_at": document.get("end_time") or document.get("start_time"),
                    "player": entrant.get("cust_id"),
                    "name": entrant.get("display_name"),
                    "place": place + 1 if isinstance(place, int) else None,
                    "status": entrant.get("reason_out"),
                }


def acc(document: Any) -> Iterator[Record]:
    """Assetto Corsa Competizione's server: in the order of finish, without words for a retirement."""
    if str(document.get("sessionType", "")).lower().rstrip("0123456789") in RACE_SESSIONS:
        for place, line in enumerate(each(document, "sessionResult.leaderBoardLines"), start=1):
            driver = get(line, "currentDriver") or (each(line, "car.drivers") or [{}])[0]
            yield {
                "player": driver.get("playerId"),
                "name": f"{driver.get('firstName', '')} {driver.get('lastName', '')}".strip(),
                "place": place if get(line, "timing.lapCount") else "DNF",
            }


def assetto_corsa(document: Any) -> Iterator[Record]:
    """Assetto Corsa's server, as Simresults reads it: in the order of finish, and no time if not finished."""
    if str(document.get("Type", "")).lower() in RACE_SESSIONS:
        for place, entrant in enumerate(each(document, "Result"), start=1):
            if entrant.get("DriverName"):
                finished = entrant.get("TotalTime") not in {0, None, NO_TIME}
                yield {
                    "player": entrant.get("DriverGuid") or entrant.get("DriverName"),
                    "name": entrant.get("DriverName"),
                    "place": place if finished and not entrant.get("Disqualified") else "DNF",
                }


def start_gg(document: Any) -> Iterator[Record]:
    """Placements of start.gg: https://developer.start.gg/docs/examples/queries/event-standings."""
    event = get(document, "data.event") or get(document, "event")
    for node in each(event, "standings.nodes"):
        yield {
            "race": event.get("name") or "event",
            "player": get(node, "entrant.name") or get(node, "player.gamerTag"),
            "place": node.get("placement"),
        }


def challonge(document: Any) -> Iterator[Record]:
    """Final ranks of Challonge: https://api.challonge.com/v1/documents/participants/index."""
    for item in each(document, "tournament.participants") or each(document, ""):
        if isinstance(person := item.get("participant"), Mapping):
            yield {
                "player": person.get("name") or person.get("display_name"),
                "place": person.get("final_rank"),
            }


JSON_FORMS: dict[str, tuple[Callable[[Any], bool], Callable[[Any], Iterator[Record]]]] = {
    "Ergast": (lambda d: get(d, "MRData.RaceTable.Races") is not None, ergast),
    "iRacing": (lambda d: bool(each(get(d, "data") or d, "session_results")), iracing),
    "Assetto Corsa Competizione": (lambda d: get(d, "sessionResult.leaderBoardLines") is not None, acc),
    "Assetto Corsa": (lambda d: bool(each(d, "Result")) and "TrackName" in d, assetto_corsa),
    "start.gg": (lambda d: bool(each(get(d, "data.event") or get(d, "event"), "standings.nodes")), start_gg),
    "Challonge": (
        lambda d: any("participant" in item for item in each(d, "tournament.participants") or each(d, "")),
        challonge,
    ),
}


def records_of(document: Any) -> tuple[str, list[Record]]:
    """Return the name of the form and the records of a JSON document.

    Raises:
        PayloadError: the form is known, and the document has no race in it; or there are no records.
    """
    for name, (is_form, read) in JSON_FORMS.items():
        if is_form(document):
            found = list(read(document))
            if not found:
                raise PayloadError(f"{name} results without a race: practice and qualifying are not rated")
            return name, found
    found = list(_exploded(document, {}))
    if not found:
        raise PayloadError(
            "no races: neither saved from racetime.gg, nor a list of objects, one for each entrant"
        )
    return "", found


def rfactor(text: str) -> list[Record]:
    """Read rFactor 2's XML log of a race: https://www.studio-397.com/modding-resources/.

    Raises:
        PayloadError: not XML, or of another form.
    """
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 - expat bounds entities, and the file is bounded
    except ElementTree.ParseError as error:
        raise PayloadError(f"not XML: {error}") from None
    drivers = root.findall(".//Race/Driver")
    if root.find("RaceResults") is None or not drivers:
        raise PayloadError("XML, but no race of rFactor 2: save it as CSV or JSON")
    return [
        {
            "player": driver.findtext("Name"),
            "place": driver.findtext("Position"),
            "status": {"finished normally": "finished", "none": "DNF"}.get(
                status := (driver.findtext("FinishStatus") or "").lower(), status
            ),
        }
        for driver in drivers
    ]


def _exploded(value: Any, above: Record) -> Iterator[Record]:
    """Yield the innermost objects of nested lists, each with the plain values of those around it.

    A key that is used within stays; the outer one gets the name of the object around it, `race name`.
    """
    if isinstance(value, list):
        for item in value:
            yield from _exploded(item, above)
    elif isinstance(value, Mapping):
        flat = dict(_flat(value))
        lists = {k: v for k, v in value.items() if isinstance(v, list) and v and isinstance(v[0], Mapping)}
        outer = above | flat
        if not lists:
            yield {
                f"race {k}" if k in flat and k in {"name", "id", "status"} else k: v for k, v in above.items()
            } | flat
        for items in lists.values():
            yield from _exploded(items, outer)


def _flat(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, each_value in value.items():
        if isinstance(each_value, Mapping):
            yield from _flat(each_value, f"{before}{key} ")
        elif not isinstance(each_value, list):
            yield f"{before}{key}", each_value
