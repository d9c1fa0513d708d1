"""Hide players from one connection: temporary views stand in for the tables with their names."""

from __future__ import annotations

from racebot.ledger.connection import Connection
from racebot.races.result import HIDDEN_NAME, NO_NAME

_NAME = (
    "CASE WHEN id IN (SELECT player FROM main.hidden_players)"  # noqa: S608 - constants only
    f" AND name <> '{NO_NAME}' THEN '{HIDDEN_NAME}' ELSE name END AS name"
)
_VIEWS = {
    "players": f"id, {_NAME}, first_seen, last_seen, folded, letters, discriminator FROM main.players",
    "shown_players": f"id, {_NAME} FROM main.shown_players",
    "profiles": "* FROM main.profiles WHERE player NOT IN (SELECT player FROM main.hidden_players)",
}


def mask_hidden_players(connection: Connection) -> None:
    """Replace the names of hidden players and drop their profiles, for all further queries.

    SQLite looks a name up among temporary views before the tables of the file, which are not changed.
    Source: https://www.sqlite.org/lang_naming.html
    """
    connection.write("PRAGMA temp_store = MEMORY")
    for name, columns in _VIEWS.items():
        connection.write(f"CREATE TEMP VIEW {name} AS SELECT {columns}")
