# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What State says of all partitions of a shard path."""

from __future__ import annotations

from .facts import COLD
from .layout import ShardLayout
from .ports import ZnodeReader


def marked_cold(hot: ZnodeReader, layout: ShardLayout) -> tuple[str, ...]:
    """Ids of the partitions whose State is COLD, sorted; one that was dropped while cold stays among them."""
    ids = hot.children([layout.block_numbers])[0] or ()
    states = hot.read([layout.state(each) for each in ids])
    return tuple(
        each for each, state in zip(ids, states, strict=True) if state is not None and state.data == COLD
    )
