"""Brings stored leaderboards in line with the settings, and with the site's names of goals."""

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from racebot.errors import SettingsError
from racebot.ledger.rows import START, Leaderboard
from racebot.ledger.store import Ledger
from racebot.races.result import RaceResult
from racebot.races.rooms import BY_GOALS
from racebot.standings.counting import LeaderboardConfig, unknown_sources
from racebot.standings.rater import is_current, states_to_carry_now
from racebot.standings.rebuild import save_settings, sources_first, update_ratings
from racebot.standings.settle import Settler

log = logging.getLogger(__name__)

SETTINGS_CHANGED = "the settings changed"  # reason of a rebuild


def follow_renames(
    settler: Settler, listed: Iterable[RaceResult], goals: Collection[str]
) -> list[RaceResult]:
    """Rename goals that the site renamed. Their leaderboards keep their races and take the new names.

    Takes finished races of one category, as the site lists them now, and the category's current goals. A new
    goal that has the earlier name of another one keeps it, also in the settings. Returns the listed races
    that may have been rated as those of another goal.
    """
    shown: dict[tuple[str, str], set[str]] = {}
    results = list(listed)
    for result in results:
        stored = None if result.custom_goal else settler.ledger.races.goal_of(result.name)
        if stored is not None:
            shown.setdefault((result.category, stored), set()).add(result.goal)
    early: list[RaceResult] = []
    for (category, earlier), names in shown.items():
        goal = next(iter(names))
        # The list of goals may be a minute older than the races. Then it has the earlier name still.
        is_known = (earlier not in goals) == (goal in goals)
        if len(names) == 1 and goal != earlier and is_known:
            same = (result for result in results if result.goal == goal and not result.custom_goal)
            early += (result for result in same if settler.ledger.races.goal_of(result.name) != earlier)
            _rename(settler, category, earlier, goal)
    for category in {result.category for result in results}:
        for earlier, goal in settler.ledger.races.renamed_goals().get(category, {}).items():
            if {earlier, goal} <= {*goals}:
                early += (result for result in results if result.goal == earlier and not result.custom_goal)
                log.warning(
                    "goal %s is a new one: in racebot.toml, write %s for the renamed one", earlier, goal
                )
                with settler.ledger.transaction():
                    settler.ledger.races.forget_rename(category, earlier)
                    settler.boards.refresh()
                    apply_settings(settler)
    return early


def _rename(settler: Settler, category: str, earlier: str, goal: str) -> None:
    log.warning("goal %s is now called %s; its leaderboard keeps its races", earlier, goal)
    ledger = settler.ledger
    with ledger.transaction():
        boards = [board for board in ledger.leaderboards.all() if board.category == category]
        named = {config.name for config in settler.rules.named}
        # Races may be stored under the new name before the rename is seen, or under the earlier one after it.
        again = [board for board in boards if {earlier, goal}.intersection(board.goals)]
        own, renamed = (settler.rules.default_name(category, each) for each in (earlier, goal))
        ledger.races.rename_goal(category, earlier, goal)
        if own not in named:  # a named leaderboard may have its goal for a while
            ledger.leaderboards.move_events(category, own, renamed)
        for board in boards:
            if earlier in board.goals:
                name = renamed if board.name == own and own not in named else board.name
                other = ledger.leaderboards.get(category, name)
                if other is not None and other.key != board.key:
                    ledger.leaderboards.remove(other)
                goals = dict.fromkeys(goal if each == earlier else each for each in board.goals)
                ledger.leaderboards.rename(board, name, list(goals))
        for board in ledger.leaderboards.all():
            carry = board.carry if board.category == category else None
            if carry and carry.source == earlier and earlier not in named:
                ledger.leaderboards.save(replace(board, carry=replace(carry, source=goal)))
        settler.boards.refresh()
        again += [*_changed_boards(settler), *_missing_boards(settler)]
        reason = f"goal {earlier} is now called {goal}"
        update_ratings(ledger, {each.key: START for each in _with_outdated(ledger, again)}, reason)


def apply_settings(settler: Settler, goals: Collection[str] | None = None) -> list[Leaderboard]:
    """Bring stored leaderboards in line with the settings, and return those that were rated again.

    Leaderboards whose settings changed are rebuilt, new ones start with the races already stored, and
    those whose goals now count elsewhere are dropped. If the model or a parameter is not set, a
    leaderboard keeps its own, even if racebot's defaults have changed since.

    With `goals`, those that the categories have now, raise SettingsError and change nothing if a source of
    carry-over is unknown.
    """
    with settler.ledger.transaction():
        changed = [*_changed_boards(settler), *_missing_boards(settler)]
        again = _with_outdated(settler.ledger, changed)
        update_ratings(settler.ledger, {board.key: START for board in again}, SETTINGS_CHANGED)
        boards = settler.ledger.leaderboards.all()
        if goals is not None and (unknown := unknown_sources(settler.rules, boards, goals)):
            raise SettingsError(*unknown)
        return changed


def _changed_boards(settler: Settler) -> list[Leaderboard]:
    """Store changed settings, drop leaderboards without settings, and return those to rate again now."""
    ledger = settler.ledger
    changed = []
    for board in sources_first(ledger.leaderboards.all()):
        config = settler.rules.config_of(board)
        if config is None:
            # Goals that the settings do not cover are no longer rated, but past ratings stay.
            by_goal = board.rule.by_goals_alone
            if not by_goal or any(settler.rules.configs_for_goal(board.category, g) for g in board.goals):
                log.warning("leaderboard %s: no longer in the settings; dropped", board.name)
                ledger.leaderboards.remove(board)
            continue
        now = settler.boards.settings_of(board)
        planned = replace(config.kept(board.category, board.first_goal, now), id=board.id)
        if planned != now:
            log.warning("leaderboard %s: settings changed (%s); rebuilding", board.name, planned.model)
            if save_settings(ledger, planned, SETTINGS_CHANGED):
                changed.append(planned)
    return changed


def _missing_boards(settler: Settler) -> list[Leaderboard]:
    """Store the missing leaderboards of stored races, sources first, and return them."""
    ledger = settler.ledger
    missing: dict[tuple[str, str], tuple[LeaderboardConfig, Leaderboard]] = {}
    rules, races = settler.rules, ledger.races
    chosen = [(c, goal, config) for c, goal in races.goals() for config in rules.configs_for_goal(c, goal)]
    named = [(c, name, config) for c, name in races.categories() for config in rules.named_in(c)]
    chosen += [(c, "", config) for c, name, config in named if config.name == name or config.rule != BY_GOALS]
    for category, goal, config in chosen:
        board = config.leaderboard(category, goal or next(iter(config.goals), ""))
        if ledger.leaderboards.get(category, config.name) is None and races.last_position(board) is not None:
            missing.setdefault((category, config.name), (config, board))
    made = []
    for board in sources_first(board for _, board in missing.values()):
        log.info("leaderboard %s: new, starting with the stored races", board.name)
        config, _ = missing[board.category, board.name]
        past = (stored.result for stored in ledger.races.counted(board))
        new = settler.boards.new_leaderboard(config, board.category, board.first_goal, past)
        made.append(ledger.leaderboards.save(new))
    return made


def _with_outdated(ledger: Ledger, rebuilt: Sequence[Leaderboard]) -> list[Leaderboard]:
    """Return leaderboards to rebuild, and those whose ratings or carried-over states come out otherwise now.

    For carried-over states, those that depend on the ones to rebuild are left out.
    """
    outdated, keys = list(rebuilt), {board.key for board in rebuilt}
    for board in ledger.leaderboards.all():
        source = ledger.leaderboards.source(board)
        if ledger.ratings.count(board) and not all(map(is_current, ledger.ratings.platforms(board))):
            reason = "rated by older models"
        elif board.key in keys or (source is not None and source.key in keys):
            continue
        elif states_to_carry_now(ledger, board) != ledger.leaderboards.carried(board):
            reason = "carried-over ratings have changed"
        else:
            continue
        log.warning("leaderboard %s: %s; rebuilding", board.name, reason)
        outdated.append(board)
    return outdated
