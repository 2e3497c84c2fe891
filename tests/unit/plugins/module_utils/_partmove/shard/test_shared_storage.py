# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Znodes about parts outside of the replicas, as different versions of servers write them."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.fence import fence_steps
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.shared_storage import (
    ZERO_COPY_ROOT,
    shared_storage_steps,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.reading import (
    Reading,
    read_together,
)
from support.memory.bench import PART, PATH
from support.memory.client import MemoryClient
from support.memory.memory import MemoryEnsemble
from support.memory.tables import TableOptions, build_table

LAYOUT = ShardLayout(PATH)
UUID = "5f2b1d3c-0d5a-4b58-9a6b-0e0a1a3b2c1d"
OWN_ID = (f"{PATH}/table_shared_id", UUID.encode())
S3 = f"{ZERO_COPY_ROOT}/zero_copy_s3"


def shared(*znodes: str | tuple[str, bytes]) -> tuple[str, ...]:
    """Return the paths found for a table with these znodes; data defaults to empty."""
    store = MemoryEnsemble("hot").open()
    client = MemoryClient(store)
    build_table(client, PATH, TableOptions(partitions=()))
    for each in znodes:
        path, data = (each, b"") if isinstance(each, str) else each
        client.ensure_path(path)
        client.set(path, data)
    fence = Reading(fence_steps(LAYOUT, ("r1", "r2")))
    found = Reading(shared_storage_steps(LAYOUT, fence))
    read_together(store, [fence, found])
    return found.result


@pytest.mark.parametrize(
    "path",
    [
        f"{PATH}/zero_copy_s3/{PART}",
        f"{PATH}/zero_copy_hdfs/{PART}",
        f"{PATH}/zero_copy_s3/shared/{PART}",
        f"{PATH}/part_moves_shard/task-1",
    ],
)
def test_locks_below_the_shard_path_are_found(path: str) -> None:
    assert shared(path) == (path,)


@pytest.mark.parametrize("below", [f"{UUID}/{PART}", f"{UUID}/shared/{PART}"])
def test_locks_of_later_servers_are_found_by_the_id_of_the_table(below: str) -> None:
    assert shared(OWN_ID, f"{S3}/{below}") == (f"{S3}/{below}",)


def test_locks_of_other_tables_are_ignored() -> None:
    other = UUID.replace("5", "6")
    assert shared(OWN_ID, f"{S3}/{other}/{PART}") == ()
    assert shared(f"{S3}/{UUID}/{PART}") == ()


def test_empty_folders_are_no_locks() -> None:
    assert shared(f"{PATH}/zero_copy_s3/shared", f"{S3}/{UUID}/shared", OWN_ID) == ()
    assert shared(f"{PATH}/part_moves_shard", f"{PATH}/replicas/r1/parts/{PART}") == ()
    assert shared() == ()


@pytest.mark.parametrize(
    ("data", "pins"),
    [
        (b"", False),
        (b'{"part_uuids":"[]"}', False),
        (b'{"part_uuids": "[]"}', False),
        (b'{"part_uuids":"[\\"5f2b\\"]"}', True),
        (b'{"part_uuids":"[]","more":1}', True),
        (b'{"part_uuids":[]}', True),
        (b"[]", True),
        (b"{}", True),
        (b"{", True),
        (b"\xff", True),
    ],
)
def test_only_the_initial_content_pins_no_parts(data: bytes, pins: bool) -> None:
    path = f"{PATH}/pinned_part_uuids"
    assert shared((path, data)) == ((path,) if pins else ())


def test_all_paths_are_returned_together() -> None:
    pinned = (f"{PATH}/pinned_part_uuids", b"[1]")
    paths = [f"{PATH}/zero_copy_s3/a", f"{PATH}/zero_copy_s3/shared/b", f"{S3}/{UUID}/c"]
    move = f"{PATH}/part_moves_shard/task-1"
    assert shared(move, pinned, OWN_ID, *paths) == (*paths, pinned[0], move)
