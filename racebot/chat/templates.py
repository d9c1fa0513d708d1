"""Everything the bot says in chat, as templates that an operator may change in `racebot.toml`, `[texts]`.

A template names its fields in braces, `{goal}`, and may leave out any of them. An empty template is
silent: where it is a whole message nothing is said, where it is a piece of one that piece is left out.
"""

from __future__ import annotations

from string import Formatter
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

LONGEST = 500
"""Characters of a template; a message of the site has at most 1,000."""
LONGEST_LABEL = 40
"""Characters of a button: a message that the site refuses for its buttons would be lost with them."""
OWN_LINE = 5
"""Characters that `info` must begin with, by which our own line in the info box is known."""


def _text(default: str, about: str, *fields: str) -> Any:
    return Field(default, max_length=LONGEST, description=about, json_schema_extra={"fields": list(fields)})


class Texts(BaseModel):
    """The templates. Descriptions say when each is used; the documentation lists their fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    provisional: str = _text(
        "Ratings, once this race is recorded ({goal}): ", "opens the rating message after the finish", "goal"
    )
    correction: str = _text(
        "Correction {number}: the result changed. Ratings, once this race is recorded ({goal}): ",
        "opens it where the result changed after it was said",
        "goal",
        "number",
    )
    again: str = _text(
        "Once more: ratings, once this race is recorded ({goal}): ",
        "opens it where a moderator asked for it again",
        "goal",
    )
    player: str = _text(
        "{place} {name} {before}→{after} ({change}{new})",
        "one entrant in the rating message",
        "place",
        "name",
        "before",
        "after",
        "change",
        "new",
    )
    team_player: str = _text(
        "{place} {team}: {name} {before}→{after} ({change}{new})",
        "the first entrant of a team, on a leaderboard that rates teams",
        "place",
        "team",
        "name",
        "before",
        "after",
        "change",
        "new",
    )
    teammate: str = _text(
        "{name} {before}→{after} ({change}{new})",
        "the team's other entrants, after it",
        "name",
        "before",
        "after",
        "change",
        "new",
    )
    team_dnf: str = _text("team DNF", "in place of the place of a team with a member who did not finish")
    new: str = _text(", first race", "marks a player in their first race")
    dnf: str = _text("DNF", "in place of the place of who did not finish")
    dq: str = _text("DQ", "in place of the place of who was disqualified")
    separator: str = _text(" · ", "stands between entrants, and between the pieces of an answer")
    no_changes: str = _text("no changes", "in place of the entrants, where a correction leaves none")
    continued: str = _text("(continued) ", "opens the second and further messages of many entrants")
    withdrawn: str = _text(
        "This race will not be recorded, so the rating changes above do not count.",
        "said where changes were announced and the race is set aside",
    )
    not_counted: str = _text(
        "This race does not count: it changes no ratings.",
        "opens the first answer in a room whose race is custom, unranked, cancelled or not recorded",
    )
    team_race: str = _text(
        "This is a team race: it does not change any rating ({goal}).", "said of team races", "goal"
    )
    info: str = _text("Ratings by racebot ({goal}): ", "opens our line in the race's info box", "goal")
    more: str = _text("and {count} more", "ends that line where not all entrants fit", "count")

    rating: str = _text(
        "{name}: {points} points, {standing} ({leaderboard})",
        "opens the answer to !rating",
        "name",
        "points",
        "standing",
        "leaderboard",
    )
    rating_place: str = _text("place {place} of {listed}", "a listed player's standing", "place", "listed")
    rating_too_few: str = _text(
        "{missing} more finishes to be ranked",
        "the standing of a player with too few finishes",
        "missing",
        "finishes",
        "needed",
    )
    rating_one_missing: str = _text(
        "1 more finish to be ranked", "the standing of a player who lacks one finish", "finishes", "needed"
    )
    unranked_points: str = _text("{points}?", "the points of a player who is not ranked yet", "points")
    rating_inactive: str = _text(
        "not listed, last raced {days} days before the latest race",
        "the standing of who has not raced for long",
        "days",
    )
    rating_hidden: str = _text("not listed", "the standing of a player whom the operator has hidden")
    rating_pending: str = _text(
        "{points} once this race is recorded ({change})",
        "what this room's race will make of it",
        "points",
        "change",
    )
    rating_record: str = _text(
        "{races} raced, {finishes} finished, {wins} won", "a player's record", "races", "finishes", "wins"
    )
    rating_last: str = _text("last race {change}", "the change by the last race", "change")
    rating_newcomer: str = _text(
        "{name} has not been rated yet ({leaderboard}) and starts at {points} points",
        "answers !rating for a player without a rating",
        "name",
        "leaderboard",
        "points",
    )
    unknown_player: str = _text(
        "No player has that name ({leaderboard}).",
        "answers an unknown name",
        "leaderboard",
    )
    did_you_mean: str = _text("Did you mean {names}?", "follows it if some names contain that text", "names")

    leaderboard: str = _text(
        "{leaderboard}, the first {count} of {listed}: ",
        "opens the answer to !leaderboard",
        "leaderboard",
        "count",
        "listed",
    )
    leaderboard_player: str = _text(
        "{place} {name} ({points})", "one player of the leaderboard", "place", "name", "points"
    )
    leaderboard_empty: str = _text(
        "Nobody is listed yet ({leaderboard}).", "answers !leaderboard where nobody is", "leaderboard"
    )
    link: str = _text("all of it: {url}", "follows where pages are published", "url")

    why: str = _text(
        "{name} {after} ({change}), last race: ",
        "opens the answer to !why about an earlier race",
        "name",
        "before",
        "after",
        "change",
        "leaderboard",
        "race",
    )
    why_pending: str = _text(
        "{name} {after} ({change}) if recorded: ",
        "opens the answer to !why about this room's race",
        "name",
        "before",
        "after",
        "change",
        "leaderboard",
        "race",
    )
    why_place: str = _text(
        "{ordinal} of {compared}, {expected} expected",
        "the place and the expected one, among the entrants that the model compares",
        "place",
        "ordinal",
        "compared",
        "expected",
    )
    why_only_finisher: str = _text("the only finisher", "in place of that, for the only finisher")
    why_unfinished: str = _text(
        "{status}, {chance} to finish", "the same, for a player who did not finish", "status", "chance"
    )
    why_unfinished_place: str = _text(
        "{status}, {expected} expected",
        "the same, where the model does not tell the chance to finish",
        "status",
        "expected",
    )
    why_finishing: str = _text("finishing {points}", "the part of the change for finishing", "points")
    why_placing: str = _text("place {points}", "the part of the change for the place", "points")
    why_even: str = _text(
        "finishing {points} and the place even out", "in place of both parts, where they cancel out", "points"
    )
    why_small: str = _text("under one point", "explains a change of ±0")
    why_forfeit: str = _text("no worse than a forfeit", "a limit: finishing costs no more than a forfeit")
    why_floor: str = _text("no rating falls lower", "a limit: the lowest rating")
    why_winner: str = _text("a winner never loses", "a limit: the winner keeps their rating")
    why_last: str = _text("the last never gains", "a limit: last of all, or not finished")
    why_limit: str = _text("{limit} {points}", "what a limit added or took away", "limit", "points")
    why_cost: str = _text("cost: {names}", "opponents that cost the most, the worst first", "names")
    why_gained: str = _text("gained: {names}", "opponents that gained the most", "names")
    why_first: str = _text(
        "{name} ({chance} to beat)", "the first opponent and the chance to beat them", "name", "chance"
    )
    why_opponent: str = _text("{name} ({chance})", "each further opponent", "name", "chance")
    why_as_expected: str = _text("about as expected", "in place of opponents, where no result stood out")
    why_nothing: str = _text(
        "{name} has no rated race yet.",
        "answers !why where there is nothing to explain",
        "name",
        "leaderboard",
    )

    odds: str = _text("Chances to win ({leaderboard}): ", "opens the answer to !odds", "leaderboard")
    odds_player: str = _text("{name} {chance}", "one entrant's chance", "name", "chance")
    odds_new: str = _text("{name} {chance} (new)", "the same of a newcomer", "name", "chance")
    odds_none: str = _text("No odds before two are entered.", "answers !odds in a room without a field")
    odds_hidden: str = _text(
        "No odds: who races here is hidden until the finish.", "answers !odds where entrants are hidden"
    )
    odds_team: str = _text("No odds for a team race.", "answers !odds in a team race")
    odds_started: str = _text("Odds are for before the start.", "answers !odds after the start")

    versus: str = _text(
        "{name} against {other} ({leaderboard}): ", "opens the answer to !vs", "name", "other", "leaderboard"
    )
    versus_record: str = _text(
        "ahead in {won} of {met} races together, behind in {lost}", "how they fared", "won", "lost", "met"
    )
    versus_tied: str = _text("tied in {tied}", "follows it if they tied", "tied")
    versus_unfinished: str = _text(
        "neither finished {unfinished}", "follows it if both failed to finish a race", "unfinished"
    )
    versus_never: str = _text("no race together yet", "where they never met")
    versus_points: str = _text("{points} and {other_points} points", "their points", "points", "other_points")
    versus_chance: str = _text("{chance} to be ahead next time", "the first one's chance", "chance")
    versus_whom: str = _text("Against whom? {command} name", "answers !vs without a name", "command")

    help: str = _text(
        "racebot {version}: {commands}. Ratings count once a race is recorded.",
        "answers !ratings",
        "version",
        "commands",
    )
    help_moderators: str = _text("Moderators: {commands}", "follows for moderators", "commands")
    off: str = _text(
        "I keep quiet in this room. The race counts all the same; {command} on brings me back.",
        "answers a moderator's !ratings off",
        "command",
    )
    on: str = _text("I speak in this room again.", "answers a moderator's !ratings on")
    nothing_to_repeat: str = _text(
        "There are no rating changes here to say again.", "answers a moderator's !ratings redo"
    )
    moderators_only: str = _text(
        "That is for the moderators of this category.", "answers anybody else who asks for it"
    )

    help_name: str = _text("name", "stands there for a player's name")
    help_number: str = _text("n", "stands there for a number of players")
    button_rating: str = _text("My rating", "a button below the rating message")
    button_why: str = _text("Why?", "a button below the rating message")
    button_leaderboard: str = _text("Leaderboard", "a button below the rating message")

    @field_validator("*")
    @classmethod
    def _known_fields(cls, value: str, info: ValidationInfo) -> str:
        allowed = fields_of(str(info.field_name))
        try:
            pieces = list(Formatter().parse(value))
        except ValueError as error:
            raise ValueError(f"{error}; write a brace that is no field twice") from None
        for _, field, form, conversion in pieces:
            if field is None:
                continue
            if field not in allowed or form or conversion:
                names = ", ".join(f"{{{name}}}" for name in allowed) or "none"
                raise ValueError(f"{{{field}}} is not a field of this text; there are: {names}")
        return value

    @field_validator("player", "separator")
    @classmethod
    def _not_empty(cls, value: str) -> str:
        if not value:
            raise ValueError("may not be empty: without it the messages around it make no sense")
        return value

    @field_validator("button_rating", "button_why", "button_leaderboard")
    @classmethod
    def _short(cls, value: str) -> str:
        if len(value) > LONGEST_LABEL:
            raise ValueError(f"a button has at most {LONGEST_LABEL} characters")
        return value

    @model_validator(mode="after")
    def _buttons_differ(self) -> Self:
        labels = [
            each for each in (self.button_rating, self.button_why, self.button_leaderboard) if each.strip()
        ]
        if len(set(labels)) < len(labels):
            raise ValueError(
                "button_rating, button_why and button_leaderboard must differ: one would be lost"
            )
        return self

    @field_validator("info")
    @classmethod
    def _recognisable(cls, value: str) -> str:
        if value and len(value.partition("{")[0].strip()) < OWN_LINE:
            raise ValueError(
                f"must begin with {OWN_LINE} characters of its own, by which the bot knows its line"
            )
        return value


def fields_of(name: str) -> tuple[str, ...]:
    """The fields that a template may name, in the order of the documentation."""
    extra = Texts.model_fields[name].json_schema_extra
    assert isinstance(extra, dict)  # noqa: S101 - `_text` sets it
    fields = extra["fields"]
    assert isinstance(fields, list)  # noqa: S101 - as above
    return tuple(str(field) for field in fields)


DEFAULT_TEXTS = Texts()
