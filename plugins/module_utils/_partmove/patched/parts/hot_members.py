# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks on every member of hot whether a partition has returned; servers may read from any member."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import EnsembleError
from ...formats.layout import ShardLayout
from ...formats.state import is_cold
from ...gates.gate import Refusal
from ...gates.names import GateName
from ...tree.ports import ZnodeStore
from ...zip_strict import zip_strict


def refuse_behind(hot: ZnodeStore, layout: ShardLayout, partition_ids: Sequence[str]) -> dict[str, Refusal]:
    """Return partition id → refusal, for partitions whose return some member of hot has not applied.

    The partitions were cold and are hot again, which State alone shows. A partition with State HOT on every
    member is no key. If a member does not answer, every partition is refused.
    """
    behind: dict[str, Refusal] = {}
    if not partition_ids:
        return behind
    paths = [layout.state(each) for each in partition_ids]
    try:
        for member in hot.members():
            member.sync(layout.path)
            for each, state in zip_strict(partition_ids, member.read(paths)):
                if state is None or is_cold(state.data):
                    behind[each] = _behind(f"on {member.name} the partition is still cold")
    except EnsembleError as error:
        return dict.fromkeys(partition_ids, _behind(error.message))
    return behind


def _behind(reason: str) -> Refusal:
    return Refusal(
        GateName.HOT_MEMBERS,
        f"the partition is registered in hot again, but not on every member of the ensemble: {reason}",
        "Check that every member of the hot ensemble is up and has caught up, then run again",
    )
