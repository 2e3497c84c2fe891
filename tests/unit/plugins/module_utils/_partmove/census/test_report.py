# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Results of a census for machines and for people."""

from __future__ import annotations

import json
from typing import Any

from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.kind import ZnodeKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.report import result_of
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.servers import ServerAnswer
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.settings import CensusLimits
from support.memory.censuses import NOW, SHARD, ZnodeTree, plain_tree

OTHER = "/clickhouse/tables/02/hits"


def result(tree: ZnodeTree) -> dict[str, Any]:
    return result_of(tree.census(), CensusLimits(), NOW)


def large() -> ZnodeTree:
    tree = plain_tree().add_table(OTHER).add_replica("r2", OTHER)
    tree.add(f"{OTHER}/new_thing/x").add("/kafka/brokers")
    for number in range(20):
        tree.add_part(f"20191202_{number}_{number}_0", legacy=True)
    return tree


def test_sums_of_kinds_tables_and_others_are_consistent() -> None:
    found = result(large())
    for count in ("znodes", "bytes"):
        assert sum(each[count] for each in found["kinds"]) == found[count]
        in_tables = sum(each[count] for each in found["tables"])
        kinds = {each["kind"]: each[count] for each in found["kinds"]}
        assert in_tables + kinds["folder"] + kinds["other"] == found[count]
        assert sum(each[count] for each in found["others"]) == kinds["other"]
        assert sum(each[count] for each in found["unknown"]) == kinds["unknown"]
        assert sum(each[count] for each in found["replicas"]) == sum(
            replica[count] for table in found["tables"] for replica in table["replicas"]
        )
    for table in found["tables"]:
        assert sum(table["kinds"].values()) == table["znodes"]
        for replica in table["replicas"]:
            assert sum(replica["kinds"].values()) == replica["znodes"]


def test_parts_by_age_say_what_moves_can_gain() -> None:
    tree = plain_tree().add_part("20191202_1_1_0", legacy=True, days=89)
    tree.add_part("20191202_2_2_0", days=400)
    found = result(tree)
    young = {each["kind"]: each["znodes"] for each in found["kinds"]}
    assert [(each["days"], each["znodes"]) for each in found["part_ages"]] == [(30, 4), (90, 1), (365, 1)]
    assert young["part"] + young["part_child"] > 4
    line = "znodes of parts by age, the most that moves of cold partitions can take out: 30 days 4 ("
    assert [each for each in found["summary"] if each.startswith(line)]


def test_the_largest_come_first() -> None:
    found = result(large())
    assert [each["shard_path"] for each in found["tables"]] == [SHARD, OTHER]
    assert [(each["replica"], each["tables"]) for each in found["replicas"]] == [("r1", 1), ("r2", 2)]
    for name in ("kinds", "tables", "replicas", "others", "unknown"):
        znodes = [each["znodes"] for each in found[name]]
        assert znodes == sorted(znodes, reverse=True)
    assert found["kinds"][0]["kind"] == ZnodeKind.PART_CHILD.value


def test_a_replica_has_session_and_last_change() -> None:
    found = result(plain_tree().add_replica("r3", active=False, days=9))
    r1, _r2, r3 = found["tables"][0]["replicas"]
    assert (r1["has_session"], r3["has_session"], r3["is_lost"]) == (True, False, False)
    assert r3["last_change"] == "2027-01-06T08:00:00.000Z"


def test_advice_has_all_fields() -> None:
    (advice,) = result(large())["advice"]
    assert (advice["kind"], advice["path"], advice["replica"], advice["znodes"]) == (
        "legacy_headers",
        SHARD,
        "",
        40,
    )
    assert advice["evidence"] == "40 of its znodes are columns and checksums of 22 registered parts."
    assert all(advice[name] for name in ("means", "remedy", "statements"))


def test_the_summary_begins_with_the_largest() -> None:
    lines = result(large())["summary"]
    assert lines[0].startswith("127 znodes with ")
    assert ", 2 tables, 3 ephemeral znodes; as of 2027-01-15T08:00:00.000Z" in lines[0]
    assert lines[1].split()[0] == "40"
    assert "part_child: columns and checksums of parts with legacy headers" in lines[1]
    assert [line for line in lines if line.endswith(":")] == [
        "Tables:",
        "Not of tables:",
        "Unknown names below tables:",
    ]
    assert lines[-2].startswith("legacy_headers: 1 case, 40 znodes; parts are registered")
    assert lines[-1] == f"    {SHARD}: 40 of its znodes are columns and checksums of 22 registered parts."


def test_the_summary_has_only_the_largest_of_many() -> None:
    tree = plain_tree()
    for number in range(12):
        tree.add_replica(f"x{number:02}", active=False, days=30).add(f"/other{number:02}")
    lines = result(tree)["summary"]
    assert "Not of tables, the largest 10 of 12:" in lines
    assert lines[-1] == "    and 2 more"


def test_the_summary_has_the_result_of_querying_servers() -> None:
    census = plain_tree().census()
    answers = [ServerAnswer("ch1", [(SHARD, "r1")]), ServerAnswer("ch2", [(SHARD, "r2")])]
    found = result_of(census, CensusLimits(), NOW, answers)
    assert found["servers"] == {"asked": 2, "unjudged": ""}
    assert (
        found["summary"][1] == "2 servers queried; tables on no server were judged by their system.replicas."
    )
    found = result_of(census, CensusLimits(), NOW, [answers[0], ServerAnswer("ch2", problem="ch2 is silent")])
    assert found["servers"]["unjudged"] == "1 of 2 servers did not answer. ch2 is silent"
    assert found["summary"][1] == (
        "2 servers queried; tables on no server were not judged: 1 of 2 servers did not answer."
        " ch2 is silent."
    )
    assert result(plain_tree())["servers"] is None


def test_unreadable_znodes_are_counted_and_named() -> None:
    whole = result(large())
    assert (whole["complete"], whole["denied"]) == (True, {"znodes": 0, "paths": []})
    census = large().census()
    for path in ("/secret", f"{OTHER}/log", "/kafka/x", f"{OTHER}/blocks"):
        census.deny(path)
    found = result_of(census, CensusLimits(), NOW)
    assert found["complete"] is False
    paths = [f"{OTHER}/blocks", f"{OTHER}/log", "/kafka/x", "/secret"]
    assert found["denied"] == {"znodes": 4, "paths": paths}
    assert {each["shard_path"]: each["complete"] for each in found["tables"]} == {SHARD: True, OTHER: False}
    assert found["summary"][1] == (
        "not complete: 4 znodes are unreadable and, like their descendants, not counted:"
        f" {', '.join(paths[:3])} and 1 more. 1 table not judged for this reason. Give an identity that"
        " may read these znodes."
    )
    assert [line for line in found["summary"] if line != found["summary"][1]] == whole["summary"]


def test_it_is_json_and_stable() -> None:
    assert json.dumps(result(large())) == json.dumps(result(large()))
    assert json.loads(json.dumps(result(large()))) == result(large())
