"""Answers to questions about the ledger, as frozen dataclasses.

Chat, the command line, pages and the API show these same types; the API's schemas are derived from them.
Everything here reads through a `Ledger` and writes nothing.
"""

from racebot.standings.queries.fame import hall_of_fame
from racebot.standings.queries.leaderboard import (
    MOVERS_WINDOW,
    BoardTotals,
    LeaderboardReport,
    Mover,
    OpenLeaderboard,
    Placing,
    biggest_movers,
    board_totals,
    leaderboard_report,
    listed_count,
    new_places,
    open_leaderboard,
    placing_of,
    top_players,
)
from racebot.standings.queries.listing import Listing
from racebot.standings.queries.odds import Forecast, PlayerOdds, finish_chance, forecasts, odds
from racebot.standings.queries.player import (
    PlayerReport,
    PlayerStanding,
    player_report,
    player_standing,
)
from racebot.standings.queries.race import (
    RacedEntrant,
    RaceOnBoard,
    RaceReport,
    RatedEntrant,
    race_report,
)
from racebot.standings.queries.ranking import ListedPlayer, ListedPlayers, Movement
from racebot.standings.queries.rivals import Comparison, Rival, compared, rivals, upsets

__all__ = [
    "MOVERS_WINDOW",
    "BoardTotals",
    "Comparison",
    "Forecast",
    "LeaderboardReport",
    "ListedPlayer",
    "ListedPlayers",
    "Listing",
    "Movement",
    "Mover",
    "OpenLeaderboard",
    "Placing",
    "PlayerOdds",
    "PlayerReport",
    "PlayerStanding",
    "RaceOnBoard",
    "RaceReport",
    "RacedEntrant",
    "RatedEntrant",
    "Rival",
    "biggest_movers",
    "board_totals",
    "compared",
    "finish_chance",
    "forecasts",
    "hall_of_fame",
    "leaderboard_report",
    "listed_count",
    "new_places",
    "odds",
    "open_leaderboard",
    "placing_of",
    "player_report",
    "player_standing",
    "race_report",
    "rivals",
    "top_players",
    "upsets",
]
