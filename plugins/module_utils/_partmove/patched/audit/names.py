# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of the parts that an ensemble registers at a shard path, also those that are no names of parts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import NamedTuple

from ...errors import FormatError
from ...formats.layout import ShardLayout
from ...formats.names import PartName, parse_part_name
from ...tree.ports import ZnodeReader
from ...zip_strict import zip_strict

PartitionNames = Mapping[str, tuple[PartName, ...]]
"""Partition id → names of its parts, sorted as they were listed."""


class EnsembleNames(NamedTuple):
    """What is registered in one ensemble. Every replica that it has is a key of ``parts``."""

    parts: Mapping[str, PartitionNames]
    unreadable: Mapping[str, tuple[str, ...]]
    """Replica → paths among its parts whose names no part has; a replica without such is no key."""


def listed_names(reader: ZnodeReader, layout: ShardLayout, format_version: int | None) -> EnsembleNames:
    """The names in an ensemble, over all replicas that it has there.

    Without a ``format_version``, of a table whose definition is gone, the names themselves tell it.
    """
    replicas = [layout.replica(name) for name in reader.children([layout.replicas])[0] or ()]
    listed = [names or () for names in reader.children([each.parts for each in replicas])]
    version = _told_version(chain.from_iterable(listed)) if format_version is None else format_version
    parts: dict[str, PartitionNames] = {}
    unreadable: dict[str, tuple[str, ...]] = {}
    for replica, names in zip_strict(replicas, listed):
        parts[replica.name], odd = taken_apart(names, version, replica.parts)
        if odd:
            unreadable[replica.name] = tuple(f"{replica.parts}/{name}" for name in odd)
    return EnsembleNames(parts, unreadable)


def _told_version(names: Iterable[str]) -> int:
    """0 where a name is none in data format version 1, and is one there; otherwise 1."""
    odd = taken_apart(names, 1, "")[1]
    return 0 if len(taken_apart(odd, 0, "")[1]) < len(odd) else 1


def taken_apart(names: Iterable[str], format_version: int, where: str) -> tuple[PartitionNames, list[str]]:
    """The names by partition, and those that no part has."""
    found: defaultdict[str, list[PartName]] = defaultdict(list)
    odd: list[str] = []
    for text in names:
        try:
            name = parse_part_name(text, format_version, f"{where}/{text}")
        except FormatError:
            odd.append(text)
        else:
            found[name.partition_id].append(name)
    return {each: tuple(parts) for each, parts in found.items()}, odd
