# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parts that cold has registered for a replica that does not have them: a namesake had, or it lost them.

A server expects whatever cold has registered for its replica. Nobody removes these registrations when a
replica is dropped, so one that is added under the same name inherits them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from ...formats.layout import ShardLayout
from ...formats.names import PartName, is_covered, parse_part_name
from ...formats.table_metadata import parse_table_metadata
from ...shard.parts import parse_name_in
from ...tree.ports import ZnodeReader
from ...zip_strict import zip_strict
from .ledger import ReplicaKey

DiskOf = Callable[[ReplicaKey], Collection[str]]
"""Gives the names of the active parts of a replica."""


class _OnlyCold(NamedTuple):
    """What cold alone has registered for a replica."""

    format_version: int
    parts: list[PartName]


def parts_without_data(
    hot: ZnodeReader, cold: ZnodeReader, keys: Collection[ReplicaKey], disk_of: DiskOf
) -> dict[ReplicaKey, list[str]]:
    """Replica → names of parts that cold has for it, and that are neither in hot nor on its disk; sorted.

    They may be there as parts that they were merged or mutated into. A part that is dropped leaves the disk
    first, so cold is looked at once more for what was not found. A replica without such is no key. Raises
    FormatError for what is not understood, and as ``disk_of`` does.
    """
    found: dict[ReplicaKey, list[str]] = {}
    for key, only in _only_in_cold(hot, cold, keys).items():
        active = [parse_part_name(name, only.format_version, f"{key}, system.parts") for name in disk_of(key)]
        missing = [part.text for part in only.parts if not is_covered(part, active)]
        if missing:
            found[key] = missing
    again = _only_in_cold(hot, cold, found) if found else {}
    still = {
        key: sorted(part.text for part in only.parts if part.text in found[key])
        for key, only in again.items()
    }
    return {key: names for key, names in still.items() if names}


def _only_in_cold(
    hot: ZnodeReader, cold: ZnodeReader, keys: Collection[ReplicaKey]
) -> dict[ReplicaKey, _OnlyCold]:
    """The parts that cold has and hot has not; a replica without such, or without a table, is no key."""
    folders = {key: ShardLayout(key.shard_path).replica(key.replica).parts for key in sorted(keys)}
    cold.sync("/")
    listed = zip_strict([*folders], cold.children([*folders.values()]))
    # Of tables that cold has nothing of, nothing has to be understood.
    in_cold = {key: names for key, names in listed if names}
    in_hot = hot.children([folders[key] for key in in_cold])
    definitions = hot.read([ShardLayout(key.shard_path).metadata for key in in_cold])
    found: dict[ReplicaKey, _OnlyCold] = {}
    for (key, names), (registered, metadata) in zip_strict(
        [*in_cold.items()], [*zip_strict(in_hot, definitions)]
    ):
        if metadata is None:
            continue
        version = parse_table_metadata(metadata.data, metadata.path).format_version
        here, there = (
            [parse_name_in(each, f"{folders[key]}/{name}", name, version) for name in texts or ()]
            for each, texts in ((cold, names), (hot, registered))
        )
        parts = [part for part in here if not is_covered(part, there)]
        if parts:
            found[key] = _OnlyCold(version, parts)
    return found
