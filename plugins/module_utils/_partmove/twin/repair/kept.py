# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts that repairs detached and kept, as a znode of the hot ensemble for each partition.

A repair writes the znode before its first DETACH PART. Without the znode, nobody could distinguish the kept
parts from folders in ``detached/`` that a person or a server put there. The znodes are below the coordination
root::

    twin-kept/<shard path, quoted>/<partition id>    names of the parts of both tables, as JSON

During a repair the znode also says how many rows of the table the repair has added to the twin. Without that
number, these rows would look like rows that were inserted twice.

Every write checks the lease of the shard path, and the version of the znode that was read.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

from ...envelope import Envelope
from ...lease.lease import Lease
from ...records import COUNT, TEXT, Record, list_of
from ...tree.paths import ensure_path
from ...tree.ports import ZnodeStore
from ...tree.znodes import Create, Delete, Op, SetData
from ..move.record import Records
from ..move.tables import Side

FORMAT = "olap.partmove/twin-kept"
VERSION = 1

_REMEDY = "Use the version of olap.partmove that wrote it, or find out which client wrote it"
_ENVELOPE = Envelope("list of kept parts", FORMAT, VERSION, remedy=_REMEDY)
_FIELDS = Record({**{side.value: list_of(TEXT) for side in Side}, "added": COUNT}, remedy=_REMEDY)


def _encoded(parts: Mapping[Side, Collection[str]], added: int) -> bytes:
    fields = {**{each.value: sorted(parts[each]) for each in Side}, "added": added}
    return json.dumps(_ENVELOPE.around(fields), separators=(",", ":")).encode()


class StoredKept(NamedTuple):
    """The kept parts of a partition as read, with the data version of the znode.

    added: number of rows that were added to the twin, or were about to be.
    """

    parts: Mapping[Side, Sequence[str]]
    added: int
    version: int


class KeptParts:
    """The kept parts of a shard path.

    Methods that write take a lease. They raise LeaseLost without a valid lease or if the znode has changed,
    and EnsembleError if the outcome is unknown.
    """

    def __init__(self, hot: ZnodeStore, root: str, shard_path: str) -> None:
        self._hot = hot
        self._records = Records(hot, root, shard_path)
        self._folder = f"{root}/twin-kept/{quote(shard_path, safe='')}"

    def partition_ids(self) -> list[str]:
        """Return the ids of all partitions with kept parts, sorted."""
        return sorted(self._hot.children([self._folder])[0] or ())

    def read(self, partition_id: str) -> StoredKept | None:
        """Return the kept parts of a partition; None if there are none. Raises FormatError."""
        (znode,) = self._hot.read([self.path(partition_id)])
        if znode is None:
            return None
        where = f"The data of {znode.path}"
        fields = _FIELDS.read(_ENVELOPE.parsed(znode.data, where), where)
        parts = {side: fields[side.value] for side in Side}
        return StoredKept(parts, fields["added"], znode.stat.version)

    def add(
        self, lease: Lease, partition_id: str, side: Side, names: Sequence[str], *, added: int = 0
    ) -> None:
        """Add parts of a table to the kept parts, and ``added`` to the number of added rows."""
        stored = self.read(partition_id)
        parts = {each: set(() if stored is None else stored.parts[each]) for each in Side}
        if stored is not None and parts[side].issuperset(names) and not added:
            return
        parts[side].update(names)
        data = _encoded(parts, added + (0 if stored is None else stored.added))
        path = self.path(partition_id)
        if stored is None:
            ensure_path(self._hot, self._folder)
        op = Create(path, data) if stored is None else SetData(path, data, stored.version)
        self._records.commit(lease, {}, [op])

    def settle(self, partition_id: str) -> list[Op]:
        """Return the operations, for the end of a repair, after which no row counts as added any more."""
        stored = self.read(partition_id)
        if stored is None or not stored.added:
            return []
        return [SetData(self.path(partition_id), _encoded(stored.parts, 0), stored.version)]

    def remove(self, lease: Lease, partition_id: str, stored: StoredKept) -> None:
        """Remove the znode of a partition, whose kept parts were deleted."""
        self._records.commit(lease, {}, [Delete(self.path(partition_id), stored.version)])

    def path(self, partition_id: str) -> str:
        """Return the path of the znode in hot."""
        return f"{self._folder}/{partition_id}"
