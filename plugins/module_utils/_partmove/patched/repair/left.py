# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads State and the names of parts, as a repair leaves them and a restore has to find them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...formats.layout import ShardLayout
from ...formats.names import PartName
from ...formats.table_metadata import parse_table_metadata
from ...tree.ports import ZnodeReader
from ...zip_strict import zip_strict
from ..audit.names import EnsembleNames, listed_names
from .backup import Left, PartitionLeft


def read_left(
    hot: ZnodeReader, cold: ZnodeReader, layout: ShardLayout, partition_ids: Iterable[str]
) -> list[PartitionLeft]:
    """Return State and the names in both ensembles, of all replicas that an ensemble has.

    Without a table in hot, a restore restores nothing, so nothing is returned. Raises FormatError for an
    unknown definition, EnsembleError and kin. The caller confirms its lease afterwards.
    """
    ids = sorted(filter(None, partition_ids))
    for each in (hot, cold):
        each.sync(layout.path)
    metadata = hot.read([layout.metadata])[0]
    if metadata is None or not ids:
        return []
    version = parse_table_metadata(metadata.data, layout.metadata).format_version
    in_hot, in_cold = (listed_names(each, layout, version) for each in (hot, cold))
    states = hot.read([layout.state(each) for each in ids])
    return [
        PartitionLeft(
            each, None if state is None else Left.of(state), _names(in_hot, each), _names(in_cold, each)
        )
        for each, state in zip_strict(ids, states)
    ]


def _names(names: EnsembleNames, partition_id: str) -> Mapping[str, Sequence[str]]:
    return {
        replica: _texts(of_replica[partition_id])
        for replica, of_replica in sorted(names.parts.items())
        if of_replica.get(partition_id)
    }


def _texts(parts: Iterable[PartName]) -> list[str]:
    return sorted(part.text for part in parts)
