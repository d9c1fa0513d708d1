"""Measure the time and memory to parse the worst frames of the maximum size.

python benchmarks/largest_frames.py
"""

from __future__ import annotations

import json
import logging
import resource
import time

from racebot.errors import PayloadError
from racebot.racetime.frames import parse_event
from racebot.racetime.socket import LARGEST_FRAME
from racebot.text.parse import read_json


def repeated(opening: str, part: str, closing: str) -> str:
    """Return a frame of about the maximum size, made by repeating one part."""
    return opening + part * ((LARGEST_FRAME - len(opening) - len(closing)) // len(part)) + closing


FRAMES = {
    "brackets": "[" * LARGEST_FRAME,
    "empty lists": repeated("[", "[],", "0]"),
    "zeros": repeated("[", "0,", "0]"),
    "one number": "9" * LARGEST_FRAME,
    "numbers of 4,300 digits": repeated("[", "9" * 4_300 + ",", "0]"),
    "half surrogate pairs": repeated('["', r"\ud800", '"]'),
    "an event type": repeated('{"type": "', "x", '"}'),
    "keys": json.dumps(dict.fromkeys(map(str, range(LARGEST_FRAME // 15)), 0)),
    "a chat history": repeated(
        '{"type": "chat.history", "messages": [',
        '{"posted_at":"2026-03-01T12:00:00Z","message":"x"},',
        "{}]}",
    ),
}


def main() -> None:
    logging.disable()
    for name, frame in FRAMES.items():
        start = time.process_time()
        try:
            parse_event(read_json(frame))
            outcome = "read"
        except PayloadError as error:
            outcome = str(error)[:60]
        print(f"{name:<25}{len(frame):>11,} bytes{time.process_time() - start:>7.2f} s  {outcome}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"peak memory {peak} MB, with program and frames")


if __name__ == "__main__":
    main()
