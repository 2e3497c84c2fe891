# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the limits of a census from a playbook or from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import FormatError
from ..records import COUNT, InvalidValue
from ..text import parse_duration
from .judge import CensusLimits

_DURATIONS = ("inactive_after", "stuck_after", "unused_after")


def limits_of(settings: Mapping[str, Any]) -> CensusLimits:
    """Read the limits from settings with the names of the fields of CensusLimits.

    Absent settings, and settings of None, keep their default. Times are durations such as ``7d``.

    Raises FormatError for an invalid limit.
    """
    given = {name: settings[name] for name in CensusLimits._fields if settings.get(name) is not None}
    return CensusLimits(**{name: _limit(name, value) for name, value in given.items()})


def _limit(name: str, value: object) -> int:
    if name in _DURATIONS:
        return parse_duration(str(value), name)
    return checked_count(name, value)


def checked_count(name: str, value: object) -> int:
    """Return the value of the setting. Raises FormatError for other values than a count."""
    try:
        return int(COUNT.check(value))
    except InvalidValue:
        raise FormatError(
            f"{name} is {value!r}, which is no count", remedy=f"Give {COUNT.expected}"
        ) from None
