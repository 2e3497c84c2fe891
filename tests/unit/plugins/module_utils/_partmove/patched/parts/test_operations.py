# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The order and the versions of the operations that move the registration of parts."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import parse_part_name
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.operations import (
    creation,
    leaving_hot,
    removal,
    returning_to_hot,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.facts import RegisteredPart
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Create,
    Delete,
    SetData,
    Stat,
    Znode,
)

PATH = "/t/replicas/r1/parts/all_0_0_0"
STATE = "/t/block_numbers/all/State"


def znode(path: str, data: bytes, version: int) -> Znode:
    return Znode(path, data, Stat(0, 0, 0, 0, version, 0, 0, 0, len(data), 0, 0))


PART = RegisteredPart(
    parse_part_name("all_0_0_0", 1, PATH),
    znode(PATH, b"", 3),
    (znode(f"{PATH}/checksums", b"sums", 4), znode(f"{PATH}/columns", b"cols", 5)),
)
CREATED = [Create(PATH, b""), Create(f"{PATH}/checksums", b"sums"), Create(f"{PATH}/columns", b"cols")]
DELETED = [Delete(f"{PATH}/checksums", 4), Delete(f"{PATH}/columns", 5), Delete(PATH, 3)]


def test_a_part_is_created_before_its_children_and_deleted_after_them() -> None:
    assert creation(PART) == CREATED
    assert removal(PART) == DELETED


def test_hot_gives_up_parts_and_marks_their_partition_at_one_instant() -> None:
    state = znode(STATE, b"HOT", 7)
    assert leaving_hot([PART], state) == [SetData(STATE, b"COLD", 7), *DELETED]


def test_hot_gets_parts_back_and_marks_their_partition_at_one_instant() -> None:
    state = znode(STATE, b"COLD", 8)
    assert returning_to_hot([PART], state) == [*CREATED, SetData(STATE, b"HOT", 8)]
