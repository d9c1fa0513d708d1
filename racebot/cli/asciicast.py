"""Records terminal output as an asciicast, version 2: https://docs.asciinema.org/manual/asciicast/v2/."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO


class Recorder(io.StringIO):
    """A text stream that passes everything on to a terminal and keeps it with the time of each write.

    Args:
        terminal: where the text also goes.
        width: columns of the recording.
        height: rows of the recording.
        clock: seconds on a monotonic scale.
    """

    def __init__(
        self, terminal: TextIO, *, width: int, height: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._terminal = terminal
        self._size = {"width": width, "height": height}
        self._clock = clock
        self._began = clock()
        self._events: list[tuple[float, str]] = []

    def write(self, text: str) -> int:
        if text:
            self._events.append((round(self._clock() - self._began, 3), text.replace("\n", "\r\n")))
        return self._terminal.write(text)

    def flush(self) -> None:
        self._terminal.flush()

    def save(self, path: Path, *, title: str) -> None:
        """Write the recording.

        Raises:
            OSError: the file cannot be written.
        """
        header = {"version": 2, **self._size, "title": title}
        lines = [header, *([at, "o", text] for at, text in self._events)]
        content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        path.write_text(content, encoding="utf-8")
