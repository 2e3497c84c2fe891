# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lists the names registered in an ensemble at a shard path, including invalid part names."""

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
"""Partition id → names of its parts, in the order of the listing."""


class EnsembleNames(NamedTuple):
    """The registered names of one ensemble. Every replica of the ensemble is a key of ``parts``."""

    parts: Mapping[str, PartitionNames]
    unreadable: Mapping[str, tuple[str, ...]]
    """Replica → paths of znodes with an invalid part name; a replica without such paths is no key."""


class NameSplitter:
    """Groups names of one table by partition; for lists of several replicas, ensembles and disks.

    Each name is parsed once, and equal lists have the same result: most replicas have the same parts.
    """

    def __init__(self, format_version: int) -> None:
        self.format_version = format_version
        self._parsed: dict[str, PartName | None] = {}
        self._results: list[tuple[tuple[str, ...], tuple[PartitionNames, list[str]]]] = []

    def split(self, names: tuple[str, ...]) -> tuple[PartitionNames, list[str]]:
        """Return the names by partition, and the invalid names. Callers must not change the result."""
        for earlier, result in self._results:
            if earlier == names:
                return result
        result = self._split(names)
        self._results.append((names, result))
        return result

    def _split(self, names: Iterable[str]) -> tuple[PartitionNames, list[str]]:
        by_partition: defaultdict[str, list[PartName]] = defaultdict(list)
        invalid: list[str] = []
        parsed = self._parsed
        for text in names:
            try:
                name = parsed[text]
            except KeyError:
                name = parsed[text] = self._parse(text)
            if name is None:
                invalid.append(text)
            else:
                by_partition[name.partition_id].append(name)
        return {each: tuple(parts) for each, parts in by_partition.items()}, invalid

    def _parse(self, text: str) -> PartName | None:
        try:
            return parse_part_name(text, self.format_version, text)
        except FormatError:
            return None


def listed_names(
    reader: ZnodeReader, layout: ShardLayout, format_version: int | None, splitter: NameSplitter | None = None
) -> EnsembleNames:
    """List the names in an ensemble, over all its replicas of the shard path.

    Without a ``format_version``, because the definition of the table is gone, the names decide.
    ``splitter``: one for the same table and version, to share its results.
    """
    replicas = [layout.replica(name) for name in reader.children([layout.replicas])[0] or ()]
    listed = [names or () for names in reader.children([each.parts for each in replicas])]
    if splitter is None:
        version = _derived_version(chain.from_iterable(listed)) if format_version is None else format_version
        splitter = NameSplitter(version)
    parts: dict[str, PartitionNames] = {}
    unreadable: dict[str, tuple[str, ...]] = {}
    for replica, names in zip_strict(replicas, listed):
        parts[replica.name], invalid = splitter.split(names)
        if invalid:
            unreadable[replica.name] = tuple(f"{replica.parts}/{name}" for name in invalid)
    return EnsembleNames(parts, unreadable)


def _derived_version(names: Iterable[str]) -> int:
    """Return 0 if a name is valid in data format version 0 only; otherwise 1."""
    invalid = split_names(names, 1)[1]
    return 0 if len(split_names(invalid, 0)[1]) < len(invalid) else 1


def split_names(names: Iterable[str], format_version: int) -> tuple[PartitionNames, list[str]]:
    """Return the names by partition, and the invalid names."""
    return NameSplitter(format_version).split(tuple(names))
