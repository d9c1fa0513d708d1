"""Everything the bot writes in a room, as templates. Operators change them in `racebot.toml`, `[texts]`.

A template contains fields in braces, such as `{goal}`, and may leave out any of them. `{races:race|races}`
chooses the word for one, or for any other number, and `{record:recorded|it stands}` that for yes or no.
The words may contain fields. An empty template switches off its message or its part of a message.
"""

from collections.abc import Iterator
from string import Formatter
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

LONGEST = 500
"""Most characters in a template. A message on the site has at most 1,000."""
LONGEST_LABEL = 40
"""Most characters on a button. The site refuses a message with a longer one."""
OWN_LINE = 5
"""Characters that `info` must begin with, so that the bot recognizes its own line in the info box."""


def _pieces(template: str) -> Iterator[tuple[str, str | None, str | None, bool]]:
    """Yield each field of a template, its form and conversion, and whether it stands in another's form."""
    for _, field, form, conversion in Formatter().parse(template):
        if field is not None:
            yield field, form, conversion, False
            yield from ((*inner[:3], True) for inner in _pieces(form or ""))


def _text(default: str, about: str, more: str = "", longest: int = LONGEST) -> Any:
    """Declare a template: its default, when it is used, and the fields that the default leaves out.

    A field with words to choose from in the default, or a `|` after its name in `more`, is a `Count`: 1 if
    something is so.
    """
    fields: dict[str, bool] = {}
    for field, form, *_ in _pieces(default):
        fields[field] = fields.get(field, False) or "|" in (form or "")
    fields |= {each.rstrip("|"): each.endswith("|") for each in more.split()}
    return Field(default, max_length=longest, description=about, json_schema_extra={"fields": dict(fields)})


class Texts(BaseModel):
    """The templates. Each description says when it is used; examples/texts.en.toml lists them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # The rating message
    provisional: str = _text("Ratings if recorded ({goal}): ", "opens the rating message after a finish")
    standing: str = _text("Ratings ({leaderboard}), final in {time}: ", "opens it if no record is needed")
    correction: str = _text("Correction ({edits}): ", "opens a correction; changed entries follow")
    edit: str = _text(
        "{name}{time:'s time edited|}{dq: disqualified|}{dnf: set to DNF|}{done: set to finished|}",
        "one edit in `correction`",
    )
    edit_other: str = _text("result changed", "any other edit, or several")
    player: str = _text("{place} {name} {after} ({change}{new}{move})", "one rated entrant", "before")
    team_member: str = _text(
        "{first:{place} {team}: |}{name} {after} ({change}{new})", "an entrant of a rated team", "before"
    )
    new: str = _text(", new", "marks a player's first race")
    move: str = _text(", {arrow} {ordinal}", "marks a new place among the first 20 of the ranking", "place")
    dnf: str = _text("DNF", "in place of the place of a player who did not finish")
    dq: str = _text("DQ", "in place of the place of a disqualified player")
    separator: str = _text("\N{NO-BREAK SPACE}· ", "separates entrants, and the pieces of an answer")
    board: str = _text("{leaderboard}: ", "names each of several leaderboards")
    no_changes: str = _text("no rating changes", "in place of the entrants, if a correction leaves none")
    continued: str = _text("Ratings, continued: ", "opens the second and further messages of a large race")
    withdrawn: str = _text(
        "This race will not be recorded: the rating changes above do not count.", "withdraws the changes"
    )
    not_counted: str = _text("This race does not count: it changes no ratings.", "where a race cannot count")
    in_event: str = _text(
        "This room belongs to {event}, its results secret until it closes.",
        "tells a room of its event",
    )
    event_closed: str = _text(
        "{event} is {open:open again, and counts when it closes|closed, and counts now}.",
        "tells it of the end, with the link, or takes that back",
    )
    event_left: str = _text("This room no longer belongs to an event.", "tells a room that it was removed")
    team_race: str = _text("Team races are not rated ({goal}).", "the message of a team race")
    info: str = _text("Ratings by racebot ({goal}): ", "opens our line in the race's info box")
    more: str = _text("and {count} more", "counts the entrants that are not named")

    # Messages on Discord
    discord_player: str = _text("**{place}** {name}{time} · {after} ({change}{new}{move})", "one entrant")
    discord_score: str = _text("**{place}** {name}{time} · {score} ({ordinal} with {total})", "with scores")
    discord_upset: str = _text("Upset: {name} won with a chance of {chance}", "marks an unlikely win")

    # Answers
    rating: str = _text("{name}: {points}, {standing}", "opens the answer to !rating", "leaderboard")
    rating_place: str = _text("{ordinal} of {listed}", "the standing of a listed player", "place")
    rating_too_few: str = _text("{missing} more {missing:finish|finishes} to be ranked", "too few finishes")
    rating_unlisted: str = _text("not listed{hidden:| after {days} days without a race}", "hidden, inactive")
    rating_pending: str = _text("{points} ({change}) if {record:recorded|it stands}", "by this room's race")
    rating_record: str = _text(
        "{races} {races:race|races}, {wins} {wins:win|wins}, {finishes} finished",
        "a player's record",
        "finishes|",
    )
    rating_newcomer: str = _text("{name} is new and starts at {points}", "answers !rating for a newcomer")
    hidden_name: str = _text("hidden player", "in place of a hidden player's name")
    deleted_name: str = _text("deleted account", "in place of the name of a deleted or forgotten account")
    player_hidden: str = _text("That player is hidden.", "answers questions about a hidden player")
    unknown_player: str = _text("No player has that name.{alike: Did you mean {names}?|}", "an unknown name")
    nothing_yet: str = _text("{name} has no {score:score|rated race} yet.", "if a player has no race")

    leaderboard: str = _text("{leaderboard}, top {count} of {listed}: ", "opens the answer to !leaderboard")
    leaderboard_player: str = _text("{place} {name} {points}", "one player of the leaderboard")
    leaderboard_empty: str = _text("No player is ranked yet. Finishes needed: {needed}", "an empty one")
    unknown_leaderboard: str = _text("No leaderboard has that name.", "answers !leaderboard and a wrong name")
    link: str = _text("{url}", "ends it where pages are published")

    why: str = _text("{name} {after} ({change}), last race: ", "opens the answer to !why", "leaderboard")
    why_pending: str = _text(
        "{name} {after} ({change}) if {record:recorded|it stands}: ",
        "the same for this room's race",
        "leaderboard",
    )
    why_place: str = _text(
        "{only:the only finisher|{ordinal} of {compared} (expected {expected})}",
        "the place and the expected one",
        "place",
    )
    why_out: str = _text(
        "{status}{known:; finishing was {chance} likely| (expected {expected})}",
        "the same without a finish, whose chance may not be known",
    )
    why_part: str = _text("{finish:finishing|place} {points}", "a part of the change")
    why_small: str = _text("under one point", "explains a change of ±0")
    why_forfeit: str = _text("no worse than a forfeit", "a limit: finishing never costs more than a forfeit")
    why_floor: str = _text("ratings never go lower", "a limit: the lowest rating")
    why_winner: str = _text("a winner never loses", "a limit: the winner keeps their rating")
    why_last: str = _text("last place never gains", "a limit: last of all, or not finished")
    why_limit: str = _text("{limit} {points}", "what a limit added or took away")
    why_opponents: str = _text("{cost:cost|gained}: {names}", "opponents that cost or gained most")
    why_opponent: str = _text("{name} ({chance}{first: to beat|})", "an opponent, and the chance")
    why_as_expected: str = _text("about as expected", "in place of opponents, if no result stood out")

    scores: str = _text("Scores ({leaderboard}, race {number}): ", "opens the scores by par of a race")
    scores_player: str = _text("{place} {name} {score}", "one racer's score")
    scores_preliminary: str = _text("preliminary until {needed} have finished", "ends them until then")
    score: str = _text("{name}: {ordinal} of {listed} with {score}", "opens the answer to !score")
    score_counted: str = _text("counted {scores}", "the scores in the total")
    score_division: str = _text("{division} (at least {least} {least:race|races})", "with races missing")
    score_dropped: str = _text("dropped {scores}", "the others, if there are any")
    score_cut: str = _text("the cut is {line}", "the total at the cut")
    scores_missing: str = _text("{leaderboard} has no {cut:cut|scores by par}.", "where there is none")
    need: str = _text("{leaderboard}: {ordinal} with {score}; the cut is {line}. ", "opens !need", "name")
    need_outlook: str = _text(
        "{secured:Secured.|}{inside:Inside the cut unless others improve.|}"
        "{beyond:The next race alone cannot be enough.|}{left:|No race is left that can count.}",
        "follows it for a racer inside the cut, or too far from it",
    )
    need_race: str = _text(
        "You are in with {any:any finish in the next race|{time} or faster in the next race (par {par})}, "
        "if nobody else improves.",
        "the same for a racer outside the cut",
    )
    why_score: str = _text(
        "score {score}: {time} at a par of {par}"
        "{allowed:, {fast} allowed for a fast seed, {spread} for spread times|}"
        "{limited:, limited from {raw}|}",
        "explains a score by par, in !why",
    )
    why_score_forfeit: str = _text("score 0: not finished", "explains a score of 0, in !why")

    odds: str = _text("Chances to win: ", "opens the answer to !odds", "leaderboard")
    odds_player: str = _text("{name} {chance}{new: (new)|}", "an entrant, who may be new")
    odds_none: str = _text(
        "{counts:Odds need two known entrants before the start, without teams.|"
        "No odds: this race does not count.}",
        "answers !odds where there are none",
    )

    versus: str = _text("{name} vs {other}: ", "opens the answer to !vs", "leaderboard")
    versus_record: str = _text(
        "{won}–{lost} in {met} {met:race|races}", "their races together, and how often each led"
    )
    versus_never: str = _text("no rated race together", "in place of that, if they never met")
    versus_points: str = _text("{points} and {other_points}", "their ratings")
    versus_chance: str = _text("{chance} to beat {other} next time", "the first player's chance")
    versus_whom: str = _text("Write {command} name.", "answers !vs without a player")

    help: str = _text(
        "racebot {version}: {commands}. Ratings count once a {record:race is recorded|result stands}.",
        "answers !ratings",
    )
    help_moderators: str = _text("Moderators: {commands}", "follows for moderators")
    help_name: str = _text("name", "stands for a player's name in it")
    quiet: str = _text(
        "{quiet:I'll stay quiet here; the race still counts. Type {command} on to bring me back.|"
        "I'm back in this room.}",
        "answers !ratings off and on",
    )
    counts: str = _text(
        "This race counts {record:if it is recorded|}{over:now|}{waits:once its result stands|}.",
        "answers !ratings count and skip",
    )
    skipped: str = _text("This race does not count. {command} count undoes this.", "answers !ratings skip")
    event_refused: str = _text(
        "{taken:This room belongs to another event.|No open event has that name.}", "answers !ratings event"
    )
    nothing_to_repeat: str = _text("No rating changes to repeat here.", "answers !ratings redo")
    hidden: str = _text(
        "{hidden:Your name is hidden. Your races still count. Write {command} show me to undo.|"
        "Your name is shown again.}",
        "answers !ratings hide me and show me",
    )
    hidden_by_operator: str = _text(
        "This bot's operator hid your name. Only they can show it again.", "answers both if the operator did"
    )
    moderators_only: str = _text("Only moderators can do that.", "answers anyone else who tries")

    # Numbers
    ordinal: str = _text("{place}{ending}", "a place, for `{ordinal}`; ending: st, nd, rd, th", "place|")
    percent: str = _text("{number}%", "a chance, where a text has `{chance}`")
    decimal: str = _text("{whole}.{tenths}", "an expected place")

    button_rating: str = _text("My rating", "a button below the rating message", longest=LONGEST_LABEL)
    button_why: str = _text("Why?", "a button below the rating message", longest=LONGEST_LABEL)
    button_leaderboard: str = _text("Leaderboard", "a button below the rating message", longest=LONGEST_LABEL)

    @field_validator("*")
    @classmethod
    def _known_fields(cls, value: str, info: ValidationInfo) -> str:
        allowed = fields_of(str(info.field_name))
        try:
            pieces = list(_pieces(value))
        except ValueError as error:
            raise ValueError(f"{error}; double a brace that does not enclose a field") from None
        for field, form, conversion, inner in pieces:
            chooses = "|" in (form or "") and not inner and allowed.get(field, False)
            if field not in allowed or conversion or (form and not chooses):
                names = ", ".join(f"{{{name}}}" for name in allowed) or "none"
                raise ValueError(f"{{{field}}} is not a field of this text; there are: {names}")
        return value

    @field_validator("player", "separator", "ordinal", "percent", "decimal")
    @classmethod
    def _not_empty(cls, value: str) -> str:
        if not value:
            raise ValueError("must not be empty: messages are built around it")
        return value

    @model_validator(mode="after")
    def _labels_differ(self) -> Self:
        labels = list(filter(str.strip, (self.button_rating, self.button_why, self.button_leaderboard)))
        if len(set(labels)) < len(labels):
            raise ValueError("button_rating, button_why and button_leaderboard must differ from each other")
        return self

    @field_validator("info")
    @classmethod
    def _recognizable(cls, value: str) -> str:
        if value and len(value.partition("{")[0].strip()) < OWN_LINE:
            raise ValueError(f"must begin with {OWN_LINE} characters before the first field, to mark it")
        return value


def fields_of(name: str) -> dict[str, bool]:
    """Return a template's fields, and whether each can choose between words."""
    extra = Texts.model_fields[name].json_schema_extra
    assert isinstance(extra, dict)  # noqa: S101 - `_text` sets it
    return {field: bool(chooses) for field, chooses in dict(extra["fields"]).items()}  # type: ignore[arg-type]


DEFAULT_TEXTS = Texts()
