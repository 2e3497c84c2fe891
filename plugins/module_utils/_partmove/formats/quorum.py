# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parses quorum entries: parts still waiting for a quorum of replicas, and parts without a quorum."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .names import PartName, parse_part_name
from .znode_text import ZnodeText, unescape


@dataclass(frozen=True)
class QuorumEntry:
    """A part that waits for a quorum.

    required: number of replicas that must have the part. replicas: names of the replicas that have the part.
    """

    part: PartName
    required: int
    replicas: tuple[str, ...]


def parse_quorum_entry(data: bytes, format_version: int, where: str) -> QuorumEntry:
    """Parse ``quorum/status`` or a child of ``quorum/parallel``.

    format_version: the data format version of the table. where: the path of the znode.

    Raises FormatError.
    """
    text = ZnodeText(data, where)
    text.exactly("version: 1")
    part = parse_part_name(text.field("part_name: "), format_version, where)
    required = text.count(text.field("required_number_of_replicas: "))
    actual = text.count(text.field("actual_number_of_replicas: "))
    text.exactly("replicas:")
    replicas = tuple(unescape(text.line("the name of a replica")) for _each in range(actual))
    text.end()
    return QuorumEntry(part, required, replicas)


def quorum_parts(children: Iterable[str], format_version: int, where: str) -> tuple[PartName, ...]:
    """Parse the names of the children of ``quorum/parallel`` or ``quorum/failed_parts``, sorted by name.

    where: the path of the parent.

    Raises FormatError.
    """
    return tuple(parse_part_name(name, format_version, f"{where}/{name}") for name in sorted(children))
