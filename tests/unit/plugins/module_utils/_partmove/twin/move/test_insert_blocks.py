# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Block ids of INSERTs that a table remembers are counted by partition."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import ensure_path
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.insert_blocks import (
    count_insert_blocks,
)
from support.memory.memory import MemoryEnsemble

PATH = "/tables/hits"


def counted(*names: str, folder: str = "blocks") -> dict[str, int]:
    hot = MemoryEnsemble("hot").open()
    for name in names:
        ensure_path(hot, f"{PATH}/{folder}/{name}")
    return count_insert_blocks(hot, PATH, ["201912", "2019", "all"])


def test_ids_are_counted_by_partition() -> None:
    assert counted("201912_1_2", "201912_3_4", "201911_1_2", "all_5_6") == {"201912": 2, "all": 1}


@pytest.mark.parametrize("folder", ["blocks", "async_blocks", "deduplication_hashes"])
def test_every_folder_is_read(folder: str) -> None:
    assert counted("2019_1_2", folder=folder) == {"2019": 1}


def test_clones_are_no_inserts() -> None:
    assert counted("201912_replace_from_12ab") == {}


def test_a_table_without_folders_remembers_nothing() -> None:
    assert counted() == {}
