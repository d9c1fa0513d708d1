"""Rating changes and scores by par as chat messages. Pure text.

A room shows a message as one paragraph in a column about 45 characters wide. Entrants are ordered by place,
each entry stays on one line, and a message that would exceed the site's limit is split between entries.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

from racebot.chat.format import chat_names, ordinal, unbroken
from racebot.ledger.outbox import Edit
from racebot.ledger.rows import TEAM_RACE, Change
from racebot.races.result import EntrantStatus
from racebot.scoring.rules import Rules
from racebot.scoring.table import ScoredRace, standard_allowances
from racebot.settings.texts import DEFAULT_TEXTS, Texts
from racebot.standings.settle import RatedRace
from racebot.text.format import Count, integer, signed, span, timer
from racebot.text.safe import plain

MESSAGE_LIMIT = 1000
EDITS = ("time", "dq", "dnf", "done")
MOST_EDITS = 2  # most edits that a correction lists one by one

Entries = Mapping[str, Mapping[str, str]]
"""The entries of an announcement: texts by user id, by leaderboard."""


def announcement(
    rated: Sequence[RatedRace], texts: Texts = DEFAULT_TEXTS, *, settled: bool = False
) -> list[str]:
    """Return the messages that announce the changes of a finished race, if there are any.

    `settled`: the race counts already, without a record.
    """
    changed = [each for each in rated if each.changes]
    if not changed:
        teams = [each for each in rated if each.note == TEAM_RACE]
        return [texts.team_race.format(goal=_goal(teams))] if teams and texts.team_race else []
    first = texts.info.format(goal=_goal(changed)) if settled else opening(changed, texts)
    return split(first, _joined(entries(changed, texts), texts), texts) if first else []


def opening(changed: Sequence[RatedRace], texts: Texts) -> str:
    """Return what opens the changes of a finished race, empty if that text is switched off."""
    rules = [each.leaderboard.rule for each in changed]
    template = texts.standing if all(rule.finished for rule in rules) else texts.provisional
    return template.format(
        time=span(max(rule.grace for rule in rules).total_seconds()),
        goal=_goal(changed),
        leaderboard=plain(changed[0].leaderboard.name),
    )


def correction(
    rated: Sequence[RatedRace], announced: Entries, edits: Sequence[Edit], texts: Texts = DEFAULT_TEXTS
) -> list[str]:
    """Return the messages that correct an announcement: the edits, and the entries that changed.

    `announced` holds the entries as they stand in chat, and is empty if these are unknown. Of a team with a
    changed entry, all are listed: only the first names the team.
    """
    if not texts.correction:
        return []
    now = entries([each for each in rated if each.changes], texts)
    changed = {}
    for each in rated:
        board, of = each.leaderboard.name, now.get(each.leaderboard.name, {})
        side = {e.user_id: e.team if each.by_team and e.team else e.user_id for e in each.result.entrants}
        sides = {side[player] for player, text in of.items() if announced.get(board, {}).get(player) != text}
        changed[board] = {player: text for player, text in of.items() if side[player] in sides}
    opening = texts.correction.format(edits=_edits(rated, edits, texts))
    return split(opening, _joined(changed, texts) or [texts.no_changes], texts)


def entries(rated: Sequence[RatedRace], texts: Texts = DEFAULT_TEXTS) -> dict[str, dict[str, str]]:
    """Return the entries by user id, in order of places, for each leaderboard."""
    return {each.leaderboard.name: players(each, texts) for each in rated}


def players(
    rated: RatedRace, texts: Texts = DEFAULT_TEXTS, *, escape: Callable[[str], str] = str
) -> dict[str, str]:
    """Return one entry for each rated entrant, by user id: finishers by place, DNFs, the disqualified.

    `escape` makes safe names safe for another place than chat.
    Entrants with the same place and points are in the order of their names.
    If teams are rated, the first entry of each team begins with the team's place and name.
    """
    by_team, result = rated.by_team, rated.result
    entrants = {entrant.user_id: entrant for entrant in result.entrants}
    names = chat_names(result.entrants, texts)
    ordered = by_place(sorted(rated.changes, key=lambda change: names[change.player].casefold()))
    ordered.sort(key=lambda c: c.place is None and entrants[c.player].status is EntrantStatus.DQ)
    teams = {c.player: entrants[c.player].team if by_team else None for c in ordered}
    if by_team:
        ordered.sort(key=lambda c: (c.place is None, c.place or 0, teams[c.player] or ""))
    written, last = {}, None
    for change in ordered:
        entrant, team = entrants[change.player], teams[change.player]
        template = texts.player if team is None else texts.team_member
        first, last, move = Count(team != last), team, rated.moves.get(change.player, 0)
        arrow, place = "▲" if move > 0 else "▼", abs(move)
        out = texts.dq if team is None and entrant.status is EntrantStatus.DQ else texts.dnf
        if template:
            text = template.format(
                place=out if change.place is None else change.place,
                first=first,
                team=escape(plain(entrant.team_name or entrant.team or "")),
                name=escape(names[change.player]),
                time=f" · {timer(entrant.seconds)}" if entrant.seconds else "",
                before=integer(change.points_before),
                after=integer(change.points_after),
                change=signed(change.points_change),
                new=texts.new if change.races_before == 0 else "",
                move=texts.move.format(arrow=arrow, place=place, ordinal=ordinal(place, texts))
                if move
                else "",
            )
            written[change.player] = unbroken(text)
    return written


def split(
    opening: str, parts: Sequence[str], texts: Texts = DEFAULT_TEXTS, limit: int = MESSAGE_LIMIT
) -> list[str]:
    """Split a text into messages of at most `limit` characters, breaking between parts only."""
    messages = [opening[:limit]]
    for number, part in enumerate(parts):
        longer = messages[-1] + (texts.separator if number else "") + part
        if len(longer) > limit and number:
            messages.append((texts.continued + part)[:limit])
        else:
            messages[-1] = longer[:limit]
    return messages


def by_place(changes: Sequence[Change]) -> list[Change]:
    """Sort changes by place, then by points, players who did not finish last. Equal ones keep their order."""
    return sorted(changes, key=lambda c: (c.place is None, c.place or 0, -c.points_after))


def _goal(rated: Sequence[RatedRace]) -> str:
    """Return the race's leaderboard, or its goal if it counts on several."""
    return plain(rated[0].leaderboard.name if len(rated) == 1 else rated[0].result.goal)


def _joined(written: Entries, texts: Texts) -> list[str]:
    """Return all entries in order. If there are several leaderboards, each begins with its name."""
    parts: list[str] = []
    for board, of in written.items():
        heading = texts.board.format(leaderboard=plain(board)) if len(written) > 1 else ""
        parts += [(heading if number == 0 else "") + text for number, text in enumerate(of.values())]
    return parts


def _edits(rated: Sequence[RatedRace], edits: Sequence[Edit], texts: Texts) -> str:
    names = chat_names(rated[0].result.entrants, texts)
    known = [each for each in edits if each.player in names and each.edit in EDITS]
    if not 0 < len(edits) <= MOST_EDITS or len(known) < len(edits):
        return texts.edit_other
    return ", ".join(
        texts.edit.format(name=names[each.player], **{kind: Count(each.edit == kind) for kind in EDITS})
        for each in known
    )


def race_scores(
    race: ScoredRace, leaderboard: str, number: int, texts: Texts, hidden: Collection[str]
) -> list[str]:
    """Return the messages with the scores of a leaderboard's race, if that text is not switched off."""
    names = chat_names(race.result.entrants, texts)
    lines = score_lines(
        race, {player: names[player] for player in race.scores if player not in hidden}, texts.scores_player
    )
    entries = list(lines.values())
    if race.par is not None and race.par.preliminary_until:
        entries.append(texts.scores_preliminary.format(needed=race.par.preliminary_until))
    opening = texts.scores.format(leaderboard=plain(leaderboard), number=number)
    return split(opening, entries, texts) if opening and race.scores else []


def score_lines(
    race: ScoredRace, names: Mapping[str, str], template: str, more: Mapping[str, Mapping[str, object]] = {}
) -> dict[str, str]:
    """Return a line for each racer with a name, best first. `more` has further fields of the template."""
    scores = [each.score for each in race.scores.values()]
    return {
        player: unbroken(
            template.format(
                place=1 + sum(other > each.score for other in scores),
                name=names[player],
                score=f"{each.score:.1f}",
                **more.get(player, {}),
            )
        )
        for player, each in race.scores.items()
        if player in names
    }


def why_score(race: ScoredRace | None, player: str, rules: Rules, texts: Texts) -> str:
    """Explain a racer's score in a race: time, par, allowances and limit; empty without one."""
    found = race.scores.get(player) if race is not None else None
    if race is None or found is None or found.time is None or race.par is None:
        return "" if found is None else texts.why_score_forfeit
    allowed = rules.family != "ratio"
    fast, spread = standard_allowances(found.time, race.par, rules) if allowed else (0.0, 0.0)
    times = {"time": found.time, "par": race.par.time, "fast": fast, "spread": spread}
    return texts.why_score.format(
        score=f"{found.score:.1f}",
        raw=f"{found.raw:.1f}",
        **{name: timer(each) for name, each in times.items()},
        allowed=Count(allowed),
        limited=Count(found.raw != found.score),
    )
