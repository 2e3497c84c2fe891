# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compares the rows of a backup with the znodes as they are: what to write, and what changed since.

A partition is restored whole or not at all. It is left as it is if State, a name of a part or a znode is not
as the repair left it. Rows that a killed restore has written already count as left by the repair.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from ...errors import FormatError
from ...formats.layout import ShardLayout
from ...formats.names import partition_id_of
from ...tree.znodes import Check, Create, Op, SetData, Znode
from .backup import DELETED, Left, PartitionLeft, SavedZnode, WrittenZnode
from .case import NotRepaired

_AUDIT = "Run part_audit_info, then part_repair with the kind that it reports"


class Action(str, Enum):
    """What a restore does with a row of the backup."""

    CREATED = "created"
    SET_BACK = "set_back"
    UNCHANGED = "unchanged"
    LEFT = "left"


class Row(NamedTuple):
    """A znode of the backup, and the znode as it is now."""

    saved: SavedZnode
    now: Znode | None
    lefts: tuple[Left, ...]
    """The znode as each write of the repair left it, in order; empty if unknown."""

    @property
    def action(self) -> Action:
        """The action, unless the partition is left as it is."""
        if self.now is None:
            return Action.CREATED
        return Action.UNCHANGED if self.now.data == self.saved.data else Action.SET_BACK

    @property
    def op(self) -> Op:
        """The write; for an unchanged row a check."""
        path, data = self.saved.path, self.saved.data
        if self.now is None:
            return Create(path, data)
        version = self.now.stat.version
        return Check(path, version) if self.action is Action.UNCHANGED else SetData(path, data, version)

    @property
    def part_path(self) -> str:
        """The path of the part znode of a part or its child; otherwise the path itself."""
        folder, _parts, below = self.saved.path.partition("/parts/")
        return f"{folder}/parts/{below.partition('/')[0]}" if below else self.saved.path

    @property
    def is_state(self) -> bool:
        """Whether the row is the State of its partition."""
        return self.saved.ensemble == "hot" and "/parts/" not in self.saved.path

    def is_as_left(self) -> bool:
        """Return whether the znode is as the repair left it; where this is unknown, whether it is missing."""
        if self.now is None:
            return not self.lefts or DELETED in self.lefts
        return Left.of(self.now) in self.lefts


class PartitionRows(NamedTuple):
    """The rows of one partition.

    created: ensemble and path → the znode as it is now, for znodes that the repair itself created.
    """

    partition_id: str
    rows: Sequence[Row]
    created: Mapping[str, tuple[Znode | None, Sequence[Left]]]
    left: PartitionLeft | None
    """The partition as the repair left it; None if the repair was killed, or the file is of version 1."""

    @property
    def pending(self) -> list[Row]:
        """The rows to write."""
        return [row for row in self.rows if row.action is not Action.UNCHANGED]

    def of(self, ensemble: str) -> list[Row]:
        """Return the rows to write to an ensemble, parents first, without State."""
        return [row for row in self.pending if row.saved.ensemble == ensemble and not row.is_state]

    @property
    def state(self) -> Row | None:
        """The row of State to write."""
        return next((row for row in self.pending if row.is_state), None)

    def refusal(self, now: PartitionLeft) -> NotRepaired | None:
        """Return why the partition is left as it is, if something changed since the repair."""
        for row in self.pending:
            if self.left is None and row.action is Action.SET_BACK:
                return NotRepaired(
                    f"{row.saved.path} exists, and the backup does not say how the repair left the partition",
                    f"The repair was killed, or an older version wrote the backup. {_AUDIT}",
                )
            if not row.is_as_left():
                return _changed(f"{row.saved.path} is not as the repair left it")
        for path, (znode, lefts) in sorted(self.created.items()):
            if znode is not None and Left.of(znode) not in lefts:
                return _changed(f"{path} is not as the repair left it")
        return None if self.left is None else self._moved(self.left, now)

    def _moved(self, left: PartitionLeft, now: PartitionLeft) -> NotRepaired | None:
        """Return a refusal if State or the names of parts are not as the repair left them."""
        # A killed restore writes State last. So State of a partition with rows to write is not set back yet.
        if now.state != left.state:
            return _changed(f"State of partition {self.partition_id} is not as the repair left it")
        for ensemble, before, after in (("hot", left.hot, now.hot), ("cold", left.cold, now.cold)):
            restored = {
                row.part_path
                for row in self.rows
                if row.saved.ensemble == ensemble and row.action is Action.UNCHANGED
            }
            for replica in sorted({*before, *after}):
                for name in sorted({*before.get(replica, ())} ^ {*after.get(replica, ())}):
                    if not any(path.endswith(f"/replicas/{replica}/parts/{name}") for path in restored):
                        return _changed(f"replica {replica} has other parts in {ensemble}, such as {name}")
        return None


def _changed(what: str) -> NotRepaired:
    return NotRepaired(f"the partition changed since the repair: {what}", _AUDIT)


def partition_of(layout: ShardLayout, ensemble: str, path: str, format_version: int) -> str | None:
    """Return the partition of a part znode, its child or a State; None for other znodes."""
    folder, _slash, below = path.removeprefix(f"{layout.path}/").partition("/")
    if folder == "block_numbers":
        partition_id = below.partition("/")[0]
        return partition_id if ensemble == "hot" and path == layout.state(partition_id) else None
    replica, _parts, part = below.partition("/parts/")
    if folder != "replicas" or not part or "/" in replica:
        return None
    try:
        return partition_id_of(part.partition("/")[0], format_version, path)
    except FormatError:
        return None


def lefts_of(lines: Iterable[SavedZnode | WrittenZnode]) -> dict[tuple[str, str], tuple[Left, ...]]:
    """Return ensemble and path → the znode as each write of the repair left it, as far as this is known."""
    lefts: dict[tuple[str, str], tuple[Left, ...]] = {}
    for each in lines:
        if each.left is not None:
            lefts[each.ensemble, each.path] = (*lefts.get((each.ensemble, each.path), ()), each.left)
    return lefts
