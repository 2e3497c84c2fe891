# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""part_audit_info on real ensembles, without servers: what it finds there; it writes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from kazoo.security import make_digest_acl

from support.ansible.modules import ASSUMED, Pair, partitions_of
from support.memory.synthetic import MINIMALISTIC
from support.memory.tables import Table, days, register

FIRST, SECOND, THIRD = days(3)
SILENT: dict[str, Any] = {
    "clickhouse": {"port": 9, "endpoints": {"r1": "127.0.0.1", "r2": "127.0.0.1"}, "timeout": 2.0}
}


def test_nothing_is_written_in_any_mode(pair: Pair, table: Table) -> None:
    before = pair.trees()
    results = pair.call_all(
        *(
            pair.task("part_audit_info", check=check, shard_paths=[table.path], **SILENT)
            for check in (True, False)
        )
    )
    for result in results:
        assert (result["changed"], result["complete"], result["kinds"]["not_judged"]) == (False, False, 6)
    checked, done = ({**each, "metrics": ""} for each in results)
    assert checked == done
    assert pair.trees() == before


def test_what_can_be_told_without_servers(pair: Pair, table: Table) -> None:
    pair.call("part_move", partitions=partitions_of(table, FIRST), **ASSUMED)
    gone = Table(pair.hot, f"{pair.base}/gone")
    register(pair.cold, gone, "r1", [SECOND])
    pair.cold.create(f"{table.parts_path('r9')}/{table.part_names(FIRST)[0]}", MINIMALISTIC, makepath=True)
    pair.hot.create(f"{table.parts_path('r1')}/lock")

    result = pair.call("part_audit_info", root=pair.base, **SILENT)

    told = {
        (row["shard_path"], row["partition"], row["replica"]): row["kind"]
        for row in result["findings"]
        if row["kind"] != "not_judged"
    }
    assert told == {
        (gone.path, SECOND, "r1"): "another_replica",
        (table.path, FIRST, "r9"): "another_replica",
        (table.path, "", "r1"): "unreadable",
    }
    assert result["kinds"]["not_judged"] == 6
    assert (result["shard_paths"], result["drifted"], result["complete"]) == (2, True, False)


@pytest.mark.parametrize("ensemble", ["hot", "cold"])
def test_what_another_application_keeps_to_itself_is_named(pair: Pair, table: Table, ensemble: str) -> None:
    pair.call("part_move", partitions=partitions_of(table, FIRST), **ASSUMED)
    client = getattr(pair, ensemble)
    client.create(f"{pair.base}/open/znode", makepath=True)
    secret = f"{pair.base}/secret"
    client.create(secret, acl=[make_digest_acl("alice", "wonder", all=True)])
    try:
        result = pair.call("part_audit_info", root=pair.base, **SILENT)
    finally:
        # So that others can read the whole tree.
        client.delete(secret)
    assert (result["shard_paths"], result["complete"], result["kinds"]["not_judged"]) == (1, False, 6)
    (unjudged,) = result["unjudged"]
    assert unjudged["shard_path"] == secret
    assert unjudged["reason"].startswith(f"The identity given to ensemble {ensemble} (127.0.0.1:")
    assert f" may not read {secret}, so tables below it are unknown. Give" in unjudged["reason"]
    assert any(line.startswith(f"not audited: {secret}: ") for line in result["summary"])


def test_a_table_that_is_bound_to_another_root_is_not_judged(pair: Pair, table: Table) -> None:
    pair.call("part_move", partitions=partitions_of(table, FIRST), **ASSUMED)
    (unjudged,) = pair.call(
        "part_audit_info",
        shard_paths=[table.path],
        **SILENT | {"coordination_root": f"{pair.base}-other"},
    )["unjudged"]
    assert unjudged["shard_path"] == table.path
    assert f"meet at {pair.base}-partmove" in unjudged["reason"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "one of the following is required: shard_paths, root"),
        ({"root": "/", "shard_paths": ["/t"]}, "parameters are mutually exclusive: shard_paths|root"),
        ({"root": "/none"}, "There is no znode /none in the hot ensemble"),
        ({"shard_paths": ["/none"]}, "There is no replicated table at /none in the hot ensemble"),
    ],
)
def test_refused(pair: Pair, options: dict[str, Any], message: str) -> None:
    result = pair.call("part_audit_info", **SILENT | options)
    assert result["failed"]
    assert message in result["msg"]
