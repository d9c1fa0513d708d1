"""Everything the bot writes in a room, as templates. Operators change them in `racebot.toml`, `[texts]`.

A template contains fields in braces, such as `{goal}`, and may leave out any of them. `{races:race|races}`
chooses the word for one, or for any other number, and `{record:recorded|it stands}` that for yes or no. An
empty template switches off its message or its part of a message.
"""

from __future__ import annotations

from string import Formatter
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

LONGEST = 500
"""Most characters in a template. A message on the site has at most 1,000."""
LONGEST_LABEL = 40
"""Most characters on a button. The site refuses a message with a longer one."""
CHOOSES = {
    "rating_too_few": {"missing"},
    "rating_record": {"races", "wins", "finishes"},
    "versus_record": {"met"},
    "score_division": {"least"},
    "ordinal": {"place"},
    "in_event": {"shown"},
    "event_closed": {"open"},
    "rating_pending": {"record"},
    "why_pending": {"record"},
    "help": {"record"},
    "why_opponent": {"first"},
    "odds_player": {"ranked", "new"},
}
"""Fields that can choose between words: each is a `Count`, 1 if something is so."""
RETIRED = {
    "rating_one_missing",
    "rating_one_win",
    "versus_one_race",
    "ordinal_first",
    "in_event_sealed",
    "event_reopened",
    "rating_standing",
    "why_standing",
    "rating_one_race",
    "why_first",
    "odds_unranked",
    "odds_new",
    "help_standing",
    "odds_started",
    "odds_teams",
}
"""Texts of earlier versions, now a choice such as `{number:one|many}` in another text. They are ignored."""
OWN_LINE = 5
"""Characters that `info` must begin with, so that the bot recognizes its own line in the info box."""


def _text(default: str, about: str, more: str = "", longest: int = LONGEST) -> Any:
    """Declare a template: its default, when it is used, and the fields that the default leaves out."""
    own = [field for _, field, _, _ in Formatter().parse(default) if field]
    fields = " ".join(dict.fromkeys([*own, *more.split()]))
    return Field(default, max_length=longest, description=about, json_schema_extra={"fields": fields})


class Texts(BaseModel):
    """The templates. Each description says when it is used; examples/texts.en.toml lists them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # The rating message
    provisional: str = _text("Ratings if recorded ({goal}): ", "opens the rating message after a finish")
    standing: str = _text("Ratings ({leaderboard}), final in {time}: ", "opens it if no record is needed")
    correction: str = _text("Correction ({edits}): ", "opens a correction; changed entries follow")
    edit_time: str = _text("{name}'s time edited", "one edit in `correction`")
    edit_dq: str = _text("{name} disqualified", "one edit in `correction`")
    edit_dnf: str = _text("{name} set to DNF", "one edit in `correction`")
    edit_done: str = _text("{name} set to finished", "one edit in `correction`")
    edit_deleted: str = _text("an account was deleted", "one edit in `correction`")
    edit_other: str = _text("result changed", "an edit of no single entrant, or more than two edits")
    player: str = _text("{place} {name} {after} ({change}{new}{move})", "one rated entrant", "before")
    team_player: str = _text(
        "{place} {team}: {name} {after} ({change}{new})", "a rated team's first entrant", "before"
    )
    teammate: str = _text("{name} {after} ({change}{new})", "the team's other entrants, after it", "before")
    team_dnf: str = _text("team DNF", "in place of the place of a team with a member who did not finish")
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
    not_counted: str = _text(
        "This race does not count: it changes no ratings.", "opens the first answer where a race cannot count"
    )
    in_event: str = _text(
        "This room belongs to {event}, {shown:and counts when it closes|its results secret until it closes}.",
        "tells a room of its event, whose results are shown or secret until then",
    )
    event_closed: str = _text(
        "{event} is {open:open again, and counts when it closes|closed, and counts now}.",
        "tells it of the end, with the link, or takes that back",
    )
    event_left: str = _text("This room no longer belongs to an event.", "tells a room that it was removed")
    team_race: str = _text("Team races are not rated ({goal}).", "the message of a team race")
    info: str = _text("Ratings by racebot ({goal}): ", "opens our line in the race's info box")
    more: str = _text("and {count} more", "stands in that line after 8 entrants")

    # Messages on Discord
    discord_player: str = _text("**{place}** {name}{time} · {after} ({change}{new}{move})", "one entrant")
    discord_score: str = _text(
        "**{place}** {name}{time} · {score} ({ordinal} with {total})", "the same where scores decide"
    )
    discord_best: str = _text("Personal best: {names}", "names finishers who were never faster")
    discord_upset: str = _text("Upset: {name} won with a chance of {chance}", "marks an unlikely win")

    discord_week: str = _text("{leaderboard} · week until {date}", "the title of a weekly summary")
    discord_climber: str = _text("▲ {ordinal} {name}", "a player who gained most places", "place")
    discord_most: str = _text("Most races: {name} ({count})", "the players with most races")
    discord_season: str = _text("{leaderboard} · the season", "the title of a season's recap")
    discord_podium: str = _text("**{place}** {name} · {total}", "a player on its podium")
    discord_improved: str = _text("Most improved: {name} ({change})", "those who gained most points in it")

    # Answers
    rating: str = _text("{name}: {points}, {standing}", "opens the answer to !rating", "leaderboard")
    rating_place: str = _text("{ordinal} of {listed}", "the standing of a listed player", "place")
    rating_too_few: str = _text(
        "{missing} more {missing:finish|finishes} to be ranked", "the standing with too few finishes"
    )
    unranked_points: str = _text("{points}?", "the points of a player who is not ranked yet, in all texts")
    rating_inactive: str = _text("not listed after {days} days without a race", "the standing if inactive")
    rating_hidden: str = _text("not listed", "the standing of a hidden player")
    rating_pending: str = _text(
        "{points} ({change}) if {record:recorded|it stands}", "the rating after this room's race"
    )
    rating_record: str = _text(
        "{races} {races:race|races}, {wins} {wins:win|wins}, {finishes} finished", "a player's record"
    )
    rating_last: str = _text("last race {change}", "the change by the last race")
    rating_newcomer: str = _text("{name} is new and starts at {points}", "answers !rating for a newcomer")
    hidden_name: str = _text("hidden player", "in place of a hidden player's name")
    deleted_name: str = _text("deleted account", "in place of the name of a deleted or forgotten account")
    player_hidden: str = _text("That player is hidden.", "answers questions about a hidden player")
    unknown_player: str = _text("No player has that name.", "answers an unknown name")
    did_you_mean: str = _text("Did you mean {names}?", "follows it if some names are similar")

    leaderboard: str = _text("{leaderboard}, top {count} of {listed}: ", "opens the answer to !leaderboard")
    leaderboard_player: str = _text("{place} {name} {points}", "one player of the leaderboard")
    leaderboard_empty: str = _text(
        "No player is ranked yet. Finishes needed: {needed}", "answers !leaderboard on an empty one"
    )
    unknown_leaderboard: str = _text("No leaderboard has that name.", "answers !leaderboard and a wrong name")
    link: str = _text("{url}", "ends it where pages are published")

    why: str = _text(
        "{name} {after} ({change}), last race: ",
        "opens the answer to !why about an earlier race",
        "leaderboard",
    )
    why_pending: str = _text(
        "{name} {after} ({change}) if {record:recorded|it stands}: ",
        "the same for this room's race",
        "leaderboard",
    )
    why_place: str = _text(
        "{ordinal} of {compared} (expected {expected})", "the place and the expected one", "place"
    )
    why_only_finisher: str = _text("the only finisher", "in place of that, for the only finisher")
    why_unfinished: str = _text("{status}; finishing was {chance} likely", "the same without a finish")
    why_unfinished_place: str = _text("{status} (expected {expected})", "the same, if no chance is known")
    why_finishing: str = _text("finishing {points}", "the part of the change for finishing")
    why_placing: str = _text("place {points}", "the part of the change for the place")
    why_small: str = _text("under one point", "explains a change of ±0")
    why_forfeit: str = _text("no worse than a forfeit", "a limit: finishing never costs more than a forfeit")
    why_floor: str = _text("ratings never go lower", "a limit: the lowest rating")
    why_winner: str = _text("a winner never loses", "a limit: the winner keeps their rating")
    why_last: str = _text("last place never gains", "a limit: last of all, or not finished")
    why_limit: str = _text("{limit} {points}", "what a limit added or took away")
    why_cost: str = _text("cost: {names}", "opponents that cost the most, the worst first")
    why_gained: str = _text("gained: {names}", "opponents that gained the most")
    why_opponent: str = _text("{name} ({chance}{first: to beat|})", "an opponent, and the chance")
    why_as_expected: str = _text("about as expected", "in place of opponents, if no result stood out")
    why_nothing: str = _text("{name} has no rated race yet.", "answers !why without a race")

    scores: str = _text("Scores ({leaderboard}, race {number}): ", "opens the scores by par of a race")
    scores_player: str = _text("{place} {name} {score}", "one racer's score")
    scores_preliminary: str = _text("preliminary until {needed} have finished", "ends them until then")
    score: str = _text("{name}: {ordinal} of {listed} with {score}", "opens the answer to !score")
    score_counted: str = _text("counted {scores}", "the scores in the total")
    score_division: str = _text(
        "{division} (at least {least} {least:race|races})", "the sum, if races are missing for the mean"
    )
    score_dropped: str = _text("dropped {scores}", "the others, if there are any")
    score_cut: str = _text("the cut is {line}", "the total at the cut")
    score_none: str = _text("{name} has no score yet.", "answers both without a race")
    score_off: str = _text(
        "{leaderboard} has no scores by par.", "answers both, if another leaderboard has scores"
    )
    need: str = _text(
        "{leaderboard}: {ordinal} with {score}; the cut is {line}. ", "opens the answer to !need", "name"
    )
    need_secured: str = _text("Secured.", "follows it if the place is certain")
    need_inside: str = _text("Inside the cut unless others improve.", "the same if the place is not certain")
    need_time: str = _text(
        "You are in with {time} or faster in the next race (par {par}), if nobody else improves.",
        "the same for a racer outside the cut",
    )
    need_finish: str = _text("You are in with any finish in the next race, if nobody else improves.", "then")
    need_out_of_reach: str = _text("The next race alone cannot be enough.", "the same if no time is enough")
    need_over: str = _text("No race is left that can count.", "the same if it is too late")
    need_no_cut: str = _text("{leaderboard} has no cut.", "answers !need without a cut")
    why_score: str = _text("score {score}: {time} at a par of {par}", "explains a score by par, in !why")
    why_score_allowed: str = _text(
        ", {fast} allowed for a fast seed, {spread} for spread times", "follows it"
    )
    why_score_limit: str = _text(", limited from {raw}", "follows it if the score has a limit")
    why_score_forfeit: str = _text("score 0: not finished", "explains a score of 0, in !why")

    odds: str = _text("Chances to win: ", "opens the answer to !odds", "leaderboard")
    odds_player: str = _text(
        "{name} {chance}{ranked:|?}{new: (new)|}", "one entrant's chance, marked if not ranked yet or new"
    )
    odds_rest: str = _text("{count} others share {chance}", "the entrants who are not named")
    odds_not_counted: str = _text("No odds: this race does not count.", "answers !odds if it cannot count")
    odds_none: str = _text(
        "Odds need two known entrants before the start, without teams.", "answers !odds in any other room"
    )
    greeting: str = _text("Good luck! {odds}", "greets the entrants before the start", "goal")

    versus: str = _text("{name} vs {other}: ", "opens the answer to !vs", "leaderboard")
    versus_record: str = _text(
        "{won}–{lost} in {met} {met:race|races}", "their races together, and how often each led"
    )
    versus_tied: str = _text("tied in {tied}", "follows it if they tied")
    versus_unfinished: str = _text("{unfinished} unfinished by both", "follows it if neither finished a race")
    versus_never: str = _text("no rated race together", "in place of that, if they never met")
    versus_points: str = _text("{points} and {other_points}", "their ratings")
    versus_chance: str = _text("{chance} to beat {other} next time", "the first player's chance")
    versus_whom: str = _text("Write {command} name, or {command} name name.", "answers !vs without a player")

    help: str = _text(
        "racebot {version}: {commands}. Ratings count once a {record:race is recorded|result stands}.",
        "answers !ratings",
    )
    help_moderators: str = _text("Moderators: {commands}", "follows for moderators")
    help_name: str = _text("name", "stands for a player's name in it")
    off: str = _text(
        "I'll stay quiet here; the race still counts. Type {command} on to bring me back.",
        "answers !ratings off",
    )
    on: str = _text("I'm back in this room.", "answers !ratings on")
    counted: str = _text("This race counts now.", "answers !ratings count")
    skipped: str = _text("This race does not count. {command} count undoes this.", "answers !ratings skip")
    needs_record: str = _text("This race counts if it is recorded.", "answers both where a record decides")
    event_unknown: str = _text("No open event has that name.", "answers !ratings event")
    event_taken: str = _text("This room belongs to another event.", "the same if it does")
    nothing_to_repeat: str = _text("No rating changes to repeat here.", "answers !ratings redo")
    hidden: str = _text(
        "Your name is hidden. Your races still count. Write {command} show me to undo.",
        "answers !ratings hide me",
    )
    unhidden: str = _text("Your name is shown again.", "answers !ratings show me")
    hidden_by_operator: str = _text(
        "This bot's operator hid your name. Only they can show it again.", "answers both if the operator did"
    )
    answers_pause: str = _text(
        "You reached the limit of answers. I'll answer you again in a minute.",
        "tells a player over the limit, once a minute and privately",
    )
    moderators_only: str = _text("Only moderators can do that.", "answers anyone else who tries")

    # Numbers
    ordinal: str = _text("{place}{ending}", "a place, where a text has `{ordinal}`; ending: st, nd, rd, th")
    percent: str = _text("{number}%", "a chance, where a text has `{chance}`")
    decimal: str = _text("{whole}.{tenths}", "an expected place")

    button_rating: str = _text("My rating", "a button below the rating message", longest=LONGEST_LABEL)
    button_why: str = _text("Why?", "a button below the rating message", longest=LONGEST_LABEL)
    button_leaderboard: str = _text("Leaderboard", "a button below the rating message", longest=LONGEST_LABEL)

    @model_validator(mode="before")
    @classmethod
    def _without_retired(cls, given: Any) -> Any:
        return {k: v for k, v in given.items() if k not in RETIRED} if isinstance(given, dict) else given

    @field_validator("*")
    @classmethod
    def _known_fields(cls, value: str, info: ValidationInfo) -> str:
        allowed = fields_of(str(info.field_name))
        try:
            pieces = list(Formatter().parse(value))
        except ValueError as error:
            raise ValueError(f"{error}; double a brace that does not enclose a field") from None
        for _, field, form, conversion in pieces:
            plural = "|" in (form or "") and field in CHOOSES.get(str(info.field_name), ())
            if field is not None and (field not in allowed or conversion or (form and not plural)):
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
            raise ValueError(
                f"must begin with {OWN_LINE} characters before the first field, to mark our line"
            )
        return value


def fields_of(name: str) -> tuple[str, ...]:
    """Return a template's fields, in the order of the documentation."""
    extra = Texts.model_fields[name].json_schema_extra
    assert isinstance(extra, dict)  # noqa: S101 - `_text` sets it
    return tuple(str(extra["fields"]).split())


DEFAULT_TEXTS = Texts()
