"""Questions to the ledger, a module for each. They read through a `Ledger` and write nothing.

Chat, the command line, pages and the API show the records that these functions return.
"""

from collections.abc import Mapping
from typing import Annotated, TypeVar

from pydantic import Field

from racebot.text.format import BESIDE

AnyRecord = TypeVar("AnyRecord")
Beside = Annotated[AnyRecord, Field(json_schema_extra=BESIDE)]
"""A record whose fields stand beside those of the record that holds it, in JSON and its description."""
ShownId = Annotated[str | None, Field(description="null for a hidden player")]
OptionalId = Annotated[str | None, Field(description="null for a deleted account or a hidden player")]
Place = Annotated[
    int | None, Field(description="null for a player who is not listed, or did not finish the race")
]
Label = Annotated[str, Field(description="The place, DNF, DQ, team DNF, or ? if unknown")]
FinishTime = Annotated[float | None, Field(description="Seconds; null if the player did not finish")]
Penalty = Annotated[
    float | None, Field(description="Seconds of the finish time that an organizer added; null for none")
]
WinChance = Annotated[float, Field(description="Chance to win, before the race")]
FinishChance = Annotated[float | None, Field(description="Chance to finish; null if the model has none")]
FinishByRating = Annotated[
    float | None,
    Field(description="The same by the rating alone: lower if the player finishes more often than it says"),
]
IsNew = Annotated[bool, Field(description="True before the player's first race on this leaderboard")]
Parts = Annotated[
    Mapping[str, int],
    Field(description="Points of the change by their cause, such as `finish` and `place`; may be empty"),
]
Listed = Annotated[int, Field(description="Number of listed players")]
