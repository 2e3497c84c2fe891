# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds parts in cold of a replica without data: a former namesake had the parts, or the replica lost them.

A server expects every part registered in cold for its replica. Dropping a replica does not remove its part
znodes from cold, so a new replica of the same name inherits them.
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
"""Returns the names of the active parts of a replica."""


class _OnlyCold(NamedTuple):
    """The parts of a replica registered in cold alone."""

    format_version: int
    parts: list[PartName]


def parts_without_data(
    hot: ZnodeReader, cold: ZnodeReader, keys: Collection[ReplicaKey], disk_of: DiskOf
) -> dict[ReplicaKey, list[str]]:
    """Return replica → names of parts in cold, but neither in hot nor on the replica's disk; sorted.

    A part merged or mutated into a present part counts as present. A dropped part leaves the disk before
    cold, so cold is read again for missing parts. A replica without missing parts is no key. Raises
    FormatError for unreadable znodes, and as ``disk_of`` does.
    """
    lacking: dict[ReplicaKey, list[str]] = {}
    for key, only in _only_in_cold(hot, cold, keys).items():
        active = [parse_part_name(name, only.format_version, f"{key}, system.parts") for name in disk_of(key)]
        missing = [part.text for part in only.parts if not is_covered(part, active)]
        if missing:
            lacking[key] = missing
    again = _only_in_cold(hot, cold, lacking) if lacking else {}
    still = {
        key: sorted(part.text for part in only.parts if part.text in lacking[key])
        for key, only in again.items()
    }
    return {key: names for key, names in still.items() if names}


def _only_in_cold(
    hot: ZnodeReader, cold: ZnodeReader, keys: Collection[ReplicaKey]
) -> dict[ReplicaKey, _OnlyCold]:
    """Return the parts in cold but not in hot; a replica without such parts or a table is no key."""
    folders = {key: ShardLayout(key.shard_path).replica(key.replica).parts for key in sorted(keys)}
    cold.sync("/")
    listed = zip_strict([*folders], cold.children([*folders.values()]))
    # Tables without parts in cold are skipped: their znodes need not be readable.
    in_cold = {key: names for key, names in listed if names}
    in_hot = hot.children([folders[key] for key in in_cold])
    definitions = hot.read([ShardLayout(key.shard_path).metadata for key in in_cold])
    only_cold: dict[ReplicaKey, _OnlyCold] = {}
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
            only_cold[key] = _OnlyCold(version, parts)
    return only_cold
