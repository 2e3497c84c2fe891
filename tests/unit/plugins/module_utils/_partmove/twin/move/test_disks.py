# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parts on several disks: what is the matter with a disk that has none of them does not count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.disks import refuse_disks
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    ActivityInProgress,
    PartContent,
    Side,
    TwinPart,
    TwinReplica,
    TwinTables,
)
from support.memory.twins import table_of

TABLES = TwinTables(TwinReplica("r1", ""), "ch1", table_of(Side.HOT, "r1"), table_of(Side.COLD, "r1"))
CONTENT = PartContent(1, "a", "b")
SOURCE = (
    TwinPart("p_1_1_0", CONTENT, 10, "fast"),
    TwinPart("p_2_2_0", CONTENT, 90, "slow"),
    TwinPart("p_3_3_0", CONTENT, 20, "fast"),
)
QUIET = ActivityInProgress((), {}, {"fast": 20, "slow": 90, "empty": 0}, 9e9)


@pytest.mark.parametrize(
    ("changed", "gate", "says"),
    [
        ({}, None, ""),
        ({"shared": {"empty": "it is S3"}, "no_links": {"empty": "it is broken"}}, None, ""),
        ({"shared": {"slow": "it is S3"}}, GateName.NO_SHARED_STORAGE, "ch1: it is S3, so that an ATTACH"),
        (
            {"shared": {"slow": "it is S3"}, "no_links": {"": "a setting is on"}},
            GateName.NO_SHARED_STORAGE,
            "it is S3",
        ),
        ({"no_links": {"slow": "it is broken"}}, GateName.LINKS_MADE, "ch1: it is broken"),
        ({"no_links": {"": "a setting is on"}}, GateName.LINKS_MADE, "ch1: a setting is on"),
        (
            {"free_bytes": {"fast": 19, "slow": 90}},
            GateName.ROOM_FOR_CLONES,
            "of 20 bytes on the disk 'fast'",
        ),
        ({"free_bytes": {"fast": 20}}, GateName.ROOM_FOR_CLONES, "of which an unknown amount is free"),
    ],
)
def test_disks_of_the_parts_alone_count(changed: Mapping[str, Any], gate: GateName | None, says: str) -> None:
    refusal = refuse_disks(TABLES, QUIET._replace(**changed), SOURCE)
    assert (None if refusal is None else refusal.gate) is gate
    assert says in ("" if refusal is None else refusal.reason)
