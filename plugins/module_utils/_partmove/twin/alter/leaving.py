# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Takes partitions that a statement drops out of the ledger of the twin, so that no audit misses them."""

from __future__ import annotations

from collections.abc import Sequence

from ...tree.ports import ZnodeStore
from ...tree.znodes import Op
from ..ledger.ledger import OpenLedger
from .statement import AlterKind, Statement


def leave_ledger(hot: ZnodeStore, root: str, shard_path: str, statement: Statement) -> Sequence[Op]:
    """Return the operations for the multi that removes the record of the statement.

    A TRUNCATE empties the ledger, so its operations are bounded by the number of pages.
    """
    if statement.kind not in (AlterKind.DROP, AlterKind.REPLACE):
        return ()
    opened = OpenLedger(hot, root, shard_path)
    if opened.ledger is None:
        return ()
    partitions = [each for each in opened.entries if statement.partition in ("", each)]
    return opened.plan(opened.ledger.pair, dict.fromkeys(partitions)).ops if partitions else ()
