"""Makes ledgers in the schema of any version, by the statements in `migrations.sql`."""

import re
from pathlib import Path

from sqlite_utils import Migrations
from sqlite_utils.db import Database

from racebot.text.parse import fold_name

_TEXT = Path(__file__).with_name("migrations.sql").read_text(encoding="utf-8")
_PARTS = re.split(r"^-- (m\d{3}_\w+)$", _TEXT, flags=re.MULTILINE)[1:]
STATEMENTS = dict(zip(_PARTS[::2], _PARTS[1::2], strict=True))


def migrate(database: Database, name: str) -> None:
    """Change the schema as one version did."""
    database.conn.create_function("casefold", 1, str.casefold)
    database.conn.create_function("fold_name", 1, fold_name)
    for statement in STATEMENTS[name].split(";"):
        database.execute(statement)
    version = Migrations("racebot")
    version(name=name)(lambda db: None)
    version.apply(database)
