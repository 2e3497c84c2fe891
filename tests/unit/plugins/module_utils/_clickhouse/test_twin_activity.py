# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""On which disks a server makes no hard link, and on which its replicas share parts."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_activity import read_activity
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
    TwinTables,
)
from support.memory.twins import DAY, table_of

ZERO_COPY = "allow_remote_fs_zero_copy_replication"
COPY = "always_use_copy_instead_of_hardlinks"
TYPES = {"default": "Local", "s3": "ObjectStorage", "older": "s3"}


class Server:
    """Has three disks, and these defaults of settings of tables."""

    label = "ClickHouse at ch1:8123"

    def __init__(self, **defaults: str) -> None:
        self.defaults = defaults

    def rows(self, sql: str) -> list[list[str]]:
        if "system.merge_tree_settings" in sql:
            return [list(each) for each in self.defaults.items() if f"'{each[0]}'" in sql]
        if "lower(type) != 'local'" in sql:
            return [[name, kind] for name, kind in TYPES.items() if kind.lower() != "local"]
        if "free_space" in sql:
            return [[name, "100"] for name in TYPES]
        return [["1700000000"]] if "now()" in sql else []


def activity_of(server: Server, settings: str = "") -> Any:
    tables = [table_of(each, "r1") for each in Side]
    hot, cold = (each._replace(definition=f"{each.definition} SETTINGS {settings}") for each in tables)
    pair = TwinTables(TwinReplica("r1", ""), "ch1", hot, cold)
    return read_activity(cast("Any", server), pair, [DAY])


@pytest.mark.parametrize(
    ("defaults", "settings", "is_on"),
    [
        ({}, "index_granularity = 8192", False),
        ({ZERO_COPY: "0"}, "", False),
        ({ZERO_COPY: "1"}, "", True),
        ({ZERO_COPY: "true"}, "", True),
        ({ZERO_COPY: "1"}, f"a = 1, {ZERO_COPY} = 0", False),
        ({ZERO_COPY: "0"}, f"a = 1, {ZERO_COPY} = 1, b = 2", True),
        ({}, f"{ZERO_COPY} = true", True),
        ({}, f"un{ZERO_COPY} = 1", False),
        ({"allow_s3_zero_copy_replication": "1"}, "", True),
    ],
)
def test_parts_on_an_object_storage_are_shared_with_zero_copy_replication(
    defaults: dict[str, str], settings: str, *, is_on: bool
) -> None:
    shared = activity_of(Server(**defaults), settings).shared
    assert sorted(shared) == (["older", "s3"] if is_on else [])
    if is_on:
        assert shared["s3"].endswith(
            "zero_copy_replication is on for db.hits, and the disk 's3' is of the type ObjectStorage"
        )


@pytest.mark.parametrize(
    ("defaults", "settings", "is_on"),
    [
        ({}, "", False),
        ({COPY: "1"}, "", True),
        ({COPY: "1"}, f"{COPY} = 0", False),
        ({COPY: "0"}, f"{COPY} = 1", True),
    ],
)
def test_copies_in_place_of_links_are_made_on_every_disk(
    defaults: dict[str, str], settings: str, *, is_on: bool
) -> None:
    reason = {"": f"the setting {COPY} is on for db.hits"}
    assert activity_of(Server(**defaults), settings).no_links == (reason if is_on else {})
