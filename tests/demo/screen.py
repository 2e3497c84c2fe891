# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the demo writes to the terminal: headings, sentences and small tables."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Sequence

WIDTH = 80
_INDENT = "   "


class Surprise(Exception):
    """Something is not as the demo says that it must be."""


def require(condition: bool, sentence: str) -> None:
    """Raise Surprise with the sentence unless the condition holds."""
    if not condition:
        raise Surprise(sentence)


class Screen:
    """Numbers the steps and tells how long the demo has been running."""

    def __init__(self) -> None:
        self._step = 0
        self._begin = time.monotonic()
        self._at_gap = True

    def title(self, text: str) -> None:
        """Write the title."""
        self._write(text, "=" * len(text))

    def step(self, text: str) -> None:
        """Begin the next step."""
        self._step += 1
        head = f"{self._step}. {text}"
        seconds = f"{time.monotonic() - self._begin:.0f} s"
        self._gap()
        self._write(f"{head}{seconds:>{WIDTH - len(head)}}", "-" * WIDTH)
        self._gap()

    def say(self, text: str) -> None:
        """Write a paragraph."""
        self._write(*textwrap.wrap(text, WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT))

    def command(self, text: str) -> None:
        """Write a command that is run now, which may take its time."""
        self._write(f"{_INDENT}$ {text}")
        self._gap()

    def warn(self, text: str) -> None:
        """Write a paragraph that nobody overlooks."""
        self._gap()
        self._write(*(f"{_INDENT}!! {line}" for line in textwrap.wrap(text, WIDTH - len(_INDENT) - 3)))
        self._gap()

    def done(self, text: str) -> None:
        """Write what was shown to be so."""
        self._write(*textwrap.wrap(text, WIDTH, initial_indent=" + ", subsequent_indent=_INDENT))

    def table(self, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Write a table; columns of numbers are aligned to the right."""
        cells = [[_cell(value) for value in row] for row in rows]
        widths = [max(len(line[column]) for line in (head, *cells)) for column in range(len(head))]
        numeric = [all(isinstance(row[column], int) for row in rows) for column in range(len(head))]
        self._gap()
        for line in (head, ["-" * width for width in widths], *cells):
            aligned = [
                text.rjust(width) if right else text.ljust(width)
                for text, width, right in zip(line, widths, numeric, strict=True)
            ]
            self._write(f"{_INDENT}{'  '.join(aligned)}".rstrip())
        self._gap()

    def _gap(self) -> None:
        """Write an empty line, unless there is one already."""
        if not self._at_gap:
            self._write("")

    def _write(self, *lines: str) -> None:
        print(*lines, sep="\n", flush=True)
        self._at_gap = lines[-1] == ""


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
