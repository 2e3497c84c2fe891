# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which records of a snapshot a scan needs. Scans that need few records are faster, and can be divided."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

_NEVER = 2**64 - 1
_PARTS_END = b"/parts"


@dataclass(frozen=True)
class Selection:
    """The records that at least one of these conditions selects.

    endings: the path ends with one of them. No ending ends with a digit, as the names of most znodes do.
    changed_from: the last change (mzxid) of the znode is this transaction or a later one.
    children_after: the last change of its children (pzxid) is after this transaction.
    paths: the path is one of them.
    part_every: the record is of a part, and no selected part is closer before it, in bytes; 0 for no parts.
    """

    endings: tuple[bytes, ...] = ()
    changed_from: int = _NEVER
    children_after: int = _NEVER
    paths: Collection[bytes] = ()
    part_every: int = 0

    @property
    def last_bytes(self) -> frozenset[int]:
        """The last bytes of the endings."""
        return frozenset(each[-1] for each in self.endings)


def is_part(path: bytes) -> bool:
    """Return whether the path may be one of a part: its parent is named ``parts``."""
    return path.rpartition(b"/")[0].endswith(_PARTS_END)
