# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Formats times, durations, lists and long text for messages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone

from .errors import FormatError

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
"""Unit of a duration → seconds."""

_DURATION = re.compile(r"([0-9]{1,9})([smhdw]?)", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_SHOWN_CHARACTERS = 80
_LINE_CHARACTERS = 200
_LAST_MILLISECOND = 253_402_300_799_999


def first_few(items: Iterable[str], most: int = 3) -> str:
    """Join the first ``most`` items and append the number of the remaining items.

    >>> first_few(["r1", "r2", "r3", "r4", "r5"])
    'r1, r2, r3 and 2 more'
    """
    listed = list(items)
    more = len(listed) - most
    return ", ".join(listed[:most]) + (f" and {more} more" if more > 0 else "")


def count_of(number: int, noun: str) -> str:
    """Return the number with its noun, which is singular only for 1.

    >>> count_of(1, "replica"), count_of(1024, "replica")
    ('1 replica', '1,024 replicas')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shown_time(milliseconds: int) -> str:
    """Format milliseconds since 1970. Times outside of the calendar become its first or last time.

    >>> shown_time(1_795_212_900_000), shown_time(2**62)
    ('2026-11-20T22:15:00.000Z', '9999-12-31T23:59:59.999Z')
    """
    return format_time(min(max(milliseconds, 0), _LAST_MILLISECOND))


def shown(text: str) -> str:
    """Quote the text, cut to 80 characters."""
    return repr(cut(text, _SHOWN_CHARACTERS))


def shortened(text: str) -> str:
    """Join the lines of the text, cut to 200 characters."""
    return cut(" ".join(text.split()), _LINE_CHARACTERS)


def cut(text: str, most: int) -> str:
    """Return the text, or its first ``most`` characters and three dots if the text is longer."""
    return text if len(text) <= most else text[:most] + "..."


def format_time(milliseconds: int) -> str:
    """Format milliseconds since 1970 as ISO 8601 in UTC.

    >>> format_time(1_795_212_900_000)
    '2026-11-20T22:15:00.000Z'
    """
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def parse_iso_time(text: str) -> datetime:
    """Parse ISO 8601 text. Raises ValueError for other text.

    ``datetime.fromisoformat`` refuses the Z of UTC before Python 3.11.

    >>> parse_iso_time("2026-11-20T22:15:00.000Z") == parse_iso_time("2026-11-20T23:15:00+01:00")
    True
    """
    return datetime.fromisoformat(f"{text[:-1]}+00:00" if text.endswith(("Z", "z")) else text)


def parse_duration(text: str, setting: str) -> int:
    """Return the seconds of a duration. Raises FormatError for other text.

    setting: the name of the option, for the message.

    >>> parse_duration("36h", "min_age"), parse_duration("90", "min_age")
    (129600, 90)
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise FormatError(
            f"{setting} is {text!r}, which is no duration",
            remedy="Give a whole number of seconds, or one with a unit such as 90s, 30m, 36h, 1d or 2w",
        )
    return int(match[1]) * SECONDS[match[2] or "s"]
