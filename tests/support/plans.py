# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which cluster the plans are of that tests write."""

from __future__ import annotations

from collections.abc import Sequence

from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.origin import (
    OriginOf,
    OriginZnode,
)


def made_up(paths: Sequence[str]) -> list[OriginZnode]:
    """Of a cluster that is nowhere."""
    return [OriginZnode(path, 17, 1_700_000_000_000) for path in paths]


def origin_in(hot: KazooClient) -> OriginOf:
    """Of the ensemble that the client, without a chroot, is connected with."""

    def origin(paths: Sequence[str]) -> list[OriginZnode]:
        stats = [(path, hot.exists(path)) for path in paths]
        return [OriginZnode(path, stat.czxid, stat.ctime) for path, stat in stats]

    return origin
