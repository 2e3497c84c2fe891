# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The limits of a census, and how they are read from a playbook or from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..errors import FormatError
from ..records import COUNT, InvalidValue
from ..text import parse_duration

_DURATIONS = ("inactive_after", "stuck_after", "unused_after")


class CensusLimits(NamedTuple):
    """Values above a limit lead to advice. Times are in seconds."""

    inactive_after: int = 7 * 86_400
    """Time without a write of a replica without a session."""
    stuck_after: int = 86_400
    """Age of a queue entry, of an unfinished mutation, and of the last change of a table on no server."""
    unused_after: int = 30 * 86_400
    """Age of a partition without parts."""
    queue_length: int = 1_000
    """Entries of a queue."""
    log_entries: int = 100
    """Entries of a log needed only by replicas without a session."""
    passed_log_entries: int = 1_000
    """Entries of a log needed by no replica."""
    deduplication_window: int = 1_000
    """Hashes of blocks kept by servers; up to twice as many are normal."""
    finished_mutations_to_keep: int = 100
    """Finished mutations kept by servers; up to twice as many are normal."""
    ddl_tasks: int = 1_000
    """Tasks of distributed DDL kept by servers."""


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
