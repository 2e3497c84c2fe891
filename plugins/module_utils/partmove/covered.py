# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether parts are still there, by themselves or as a part of what they were merged into."""

from __future__ import annotations

from collections.abc import Iterable

from .names import PartName, parse_part_name


def uncovered(then: Iterable[str], now: Iterable[str], partition_id: str, where: str) -> list[str]:
    """Names of then that are not there now, neither by themselves nor as a part of another one; sorted.

    Both are parts of one partition; ``where`` is the table, for the message of a FormatError.
    """
    names = set(now)
    gone = set(then) - names
    if not gone:
        return []
    active = parse_names(names, partition_id, where)
    return sorted(
        part.text
        for part in parse_names(gone, partition_id, where)
        if not any(each.covers(part) for each in active)
    )


def parse_names(names: Iterable[str], partition_id: str, where: str) -> list[PartName]:
    """Take the names of parts of one partition apart; raises FormatError."""
    # Only in data format version 1 does the name of a part begin with the id of its partition.
    return [
        parse_part_name(name, 1 if name.startswith(f"{partition_id}_") else 0, f"{where}, system.parts")
        for name in names
    ]
