# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kind of a znode follows from its path in the table."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.kind import (
    ZnodeKind,
    kind_in_table,
    label_of_unknown,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import (
    KNOWN_TABLE_CHILDREN,
    TABLE_CHILDREN_WITHOUT_MOVES,
)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("log", ZnodeKind.TABLE),
        ("metadata", ZnodeKind.TABLE),
        ("blocks", ZnodeKind.TABLE),
        ("log/log-0000000001", ZnodeKind.LOG),
        ("log/log-0000000001/x", ZnodeKind.UNKNOWN),
        ("blocks/20191201_1_2", ZnodeKind.BLOCK),
        ("async_blocks/20191201_1_2", ZnodeKind.BLOCK),
        ("blocks/20191201_1_2/x", ZnodeKind.UNKNOWN),
        ("block_numbers/20191201", ZnodeKind.BLOCK_NUMBER),
        ("block_numbers/20191201/block-0000000001", ZnodeKind.BLOCK_NUMBER),
        ("block_numbers/20191201/State", ZnodeKind.STATE),
        ("block_numbers/20191201/State/x", ZnodeKind.UNKNOWN),
        ("temp/abandonable_lock-0000000001", ZnodeKind.BLOCK_NUMBER),
        ("mutations/0000000001", ZnodeKind.MUTATION),
        ("quorum/status", ZnodeKind.QUORUM),
        ("quorum/parallel/20191201_0_0_0", ZnodeKind.QUORUM),
        ("zero_copy_s3/shared/20191201_0_0_0", ZnodeKind.ZERO_COPY),
        ("lightweight_updates/in_progress/20240101/update-0000000000", ZnodeKind.TABLE),
        ("new_thing", ZnodeKind.UNKNOWN),
        ("new_thing/log", ZnodeKind.UNKNOWN),
        ("metadata/x", ZnodeKind.UNKNOWN),
    ],
)
def test_a_znode_below_a_table_is_of_one_kind(path: str, kind: ZnodeKind) -> None:
    assert kind_in_table(path.split("/")) is kind


@pytest.mark.parametrize("name", sorted(KNOWN_TABLE_CHILDREN | TABLE_CHILDREN_WITHOUT_MOVES))
def test_known_children_of_a_table_have_the_kind_table(name: str) -> None:
    assert kind_in_table([name]) is ZnodeKind.TABLE


def test_labels_of_unknown_znodes_have_no_names_of_tables_and_replicas() -> None:
    assert label_of_unknown(["replicas", "r1", "new_thing", "x"]) == "replicas/*/new_thing"
    assert label_of_unknown(["replicas", "r2", "parts", "all_0_0_0", "z", "y"]) == "replicas/*/parts/*/z"
    assert label_of_unknown(["new_thing", "x", "y"]) == "new_thing"
    assert label_of_unknown(["mutations", "0000000001", "x"]) == "mutations/*/x"


def test_every_kind_has_a_description() -> None:
    assert len({kind.means for kind in ZnodeKind}) == len(ZnodeKind)
