# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each refusal of part_move is one clear sentence and its way out, and nothing is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest
from kazoo.client import KazooClient
from kazoo.security import CREATOR_ALL_ACL, READ_ACL_UNSAFE

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import PlanRow
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.writing import write_plan
from support.ansible.modules import ASSUMED, Pair, partitions_of
from support.memory.tables import Table, days, read_tree
from support.plans import made_up, origin_in
from support.servers.ports import ReservedPorts
from support.servers.zookeeper import Ensemble

(FIRST,) = days(1)
SHORT = {"connect_timeout": 10.0, "operation_timeout": 10.0}


class Case(NamedTuple):
    """What is said (a pattern) when part_move is called with these options."""

    sentence: str
    args: dict[str, Any]


def refused(pair: Pair, sentence: str, **args: Any) -> None:
    """Call part_move in check mode and for real; both fail with the sentence and leave all as it was."""
    all_refused(pair, [Case(sentence, args)], modes=(True, False))


def all_refused(pair: Pair, cases: Sequence[Case], modes: Sequence[bool] = (False,)) -> None:
    """Call part_move for every case and mode, where True is check mode."""
    before = pair.trees()
    calls = [(case, mode) for case in cases for mode in modes]
    results = pair.call_all(
        *(pair.task("part_move", check=mode, **ASSUMED | case.args) for case, mode in calls)
    )
    for (case, _mode), result in zip(calls, results, strict=True):
        assert result["failed"], result
        assert re.fullmatch(case.sentence, result["msg"], re.DOTALL), result["msg"]
        assert not result["changed"]
    assert pair.trees() == before


def test_hosts_that_are_no_addresses(pair: Pair, table: Table) -> None:
    refused(
        pair,
        r"'zk1 zk2' among the hosts of ensemble hot is not host:port\. Write host:port for each member.*",
        hot={"hosts": ["zk1 zk2"]},
        partitions=partitions_of(table),
    )


def test_one_ensemble_given_twice(pair: Pair, table: Table) -> None:
    refused(
        pair,
        r"Hot and cold are one ensemble: both were given the address 127\.0\.0\.1:\d+\."
        r" Give the hosts of a second ensemble as cold\.",
        cold=pair.options["hot"],
        partitions=partitions_of(table),
    )


def test_one_ensemble_under_two_names(pair: Pair, table: Table) -> None:
    (address,) = pair.options["hot"]["hosts"]
    refused(
        pair,
        rf"Hot and cold are one ensemble: {table.path} was created by the same transaction in both\. .*",
        cold={"hosts": [address.replace("127.0.0.1", "localhost")]},
        partitions=partitions_of(table),
    )


@pytest.mark.parametrize("name", ["hot", "cold"])
def test_unreachable_ensemble(pair: Pair, table: Table, name: str) -> None:
    ports = ReservedPorts()
    refused(
        pair,
        rf"No answer from ensemble {name} \(127\.0\.0\.1:\d+\) within 10 s: .*\. Check the addresses, .*\.",
        partitions=partitions_of(table),
        **{name: {"hosts": [f"127.0.0.1:{ports.take()}"], **SHORT}},
    )
    ports.release()


def test_member_of_cold_that_is_down(pair: Pair, table: Table, cold: Ensemble) -> None:
    cold.followers()[0].kill()
    refused(
        pair,
        r"No answer from member 127\.0\.0\.1:\d+ of ensemble cold within 10 s: .*",
        partitions=partitions_of(table),
        cold=pair.options["cold"] | SHORT,
    )


def test_member_of_cold_that_is_not_named(pair: Pair, table: Table) -> None:
    refused(
        pair,
        r"Server 3 \(127\.0\.0\.1:\S+\) of ensemble cold is not among the hosts\."
        r" Name every member in hosts, observers included: each is read to prove a copy\.",
        partitions=partitions_of(table),
        cold={"hosts": pair.options["cold"]["hosts"][:2]},
    )


def test_chroot_that_does_not_exist(pair: Pair, table: Table) -> None:
    refused(
        pair,
        rf"The chroot {pair.base}-none does not exist in ensemble cold\. Correct the chroot, .*",
        partitions=partitions_of(table),
        cold=pair.options["cold"] | {"chroot": f"{pair.base}-none"},
    )


@pytest.mark.parametrize("wanted", ["elsewhere", "hits/replicas"])
def test_table_that_does_not_exist(pair: Pair, table: Table, wanted: str) -> None:
    path = f"{pair.base}/{wanted}"
    refused(
        pair,
        rf"There is no replicated table at {path} in the hot ensemble\. Correct the path .*",
        partitions=[{"shard_path": path, "partition": FIRST}],
    )
    missing = {"shard_path": path, "partition": FIRST}
    moved = pair.call("part_move", **ASSUMED, partitions=[*partitions_of(table), missing])
    assert [each["shard_path"] for each in moved["deferred"]] == [path]
    assert moved["deferred"][0]["gate"] == "partition_exists"


def test_chroot_that_may_only_be_read(
    pair: Pair, table: Table, cold: Ensemble, connect: Callable[[str], KazooClient]
) -> None:
    """Only writing shows it, so check mode cannot tell."""
    chroot = f"{pair.base}-readonly"
    owner = connect(cold.connect_string)
    owner.add_auth("digest", "owner:secret")
    owner.create(chroot, acl=[*CREATOR_ALL_ACL, *READ_ACL_UNSAFE])
    before = read_tree(pair.hot, table.path)
    result = pair.call(
        "part_move",
        partitions=partitions_of(table),
        cold=pair.options["cold"] | {"chroot": chroot},
        **ASSUMED,
    )
    assert result["failed"]
    assert re.fullmatch(
        rf"Writing {pair.base}-partmove is denied to this identity by the cold ensemble\."
        r" Give the identity create, write and delete permission there, or use another identity\.",
        result["msg"],
    )
    assert result["counts"]["not_reached"] == 3
    assert read_tree(pair.hot, table.path) == before


class Damage(NamedTuple):
    """What happened to a plan file, and what is said about it."""

    pattern: str
    replacement: str
    sentence: str


DAMAGE = {
    "cut line": Damage(r".{10}\Z", "", r":2: the last line has no line end, the file was cut short\. .*"),
    "cut rows": Damage(
        r"(?<=\n).*\n", "", r":1: the header announces 1 rows and the file holds 0\. The file was cut .*"
    ),
    "state": Damage("COLD", "COOL", r":2: state is 'COOL'\. It has to be COLD or HOT\. Run the .*"),
    "edited": Damage('"reason":"test"', '"reason":"tset"', r":1: the rows do not have the digest .*"),
    "empty": Damage(r"(.|\n)*", "", r":1: the file is empty\. .*"),
    "version": Damage('"version":3', '"version":7', r":1: its version is 7, .*"),
}


def test_plans_that_cannot_be_read(pair: Pair, table: Table) -> None:
    plan = pair.folder / "plan.jsonl"
    rows = [PlanRow(table.path, FIRST, State.COLD, "test", 0, 2, 2, 192)]
    write_plan(plan, rows, policy_digest="0" * 64, source="test", origin=origin_in(pair.hot), as_of=0)
    cases = []
    for name, damage in DAMAGE.items():
        text, count = re.subn(damage.pattern, damage.replacement, plan.read_text(), count=1, flags=re.DOTALL)
        assert count == 1, name
        damaged = pair.folder / f"{name}.jsonl"
        damaged.write_text(text)
        cases.append(Case(f"{damaged}{damage.sentence}", {"plan": str(damaged)}))
    none = f"{pair.folder}/none"
    sentence = (
        rf"{none}: the plan file cannot be read: No such file or directory\. Give the path of a plan .*"
    )
    cases.append(Case(sentence, {"plan": none}))
    all_refused(pair, cases)


def test_a_plan_of_another_cluster(pair: Pair, table: Table) -> None:
    plan = pair.folder / "plan.jsonl"
    rows = [PlanRow(table.path, FIRST, State.COLD, "test", 0, 2, 2, 192)]
    write_plan(plan, rows, policy_digest="0" * 64, source="test", origin=made_up, as_of=0)
    (top,) = origin_in(pair.hot)([f"/{table.path.split('/')[1]}"])
    sentence = (
        rf"{plan}: the plan was made of another cluster, in which {top.path} was created by transaction 0x11"
        r" at 2023-11-14T22:13:20\.000Z, and not of the hot ensemble given, where it was created by"
        rf" transaction 0x{top.czxid:x} at .*Z\. Give hosts and chroot of the plan's cluster, .*"
    )
    all_refused(pair, [Case(sentence, {"plan": str(plan), "state": state}) for state in ("cold", "hot")])


def test_shard_paths_that_cannot_be(pair: Pair, table: Table) -> None:
    missing = f"{pair.base}/nowhere"
    back = {"state": "hot", "shard_paths": [table.path]}
    cases = [
        Case(
            r"shard_paths with the state cold would make every partition of these tables cold\."
            r" Give a plan or partitions, or the state hot\.",
            {"shard_paths": [table.path]},
        ),
        Case(
            rf"There is no replicated table at {missing} in the hot ensemble\. Correct the path .*",
            back | {"shard_paths": [table.path, missing]},
        ),
        Case(r".*'hits/' .*", back | {"shard_paths": ["hits/"]}),
        Case(r"one of the following is required: plan, partitions, shard_paths", {"state": "hot"}),
        Case(
            r"parameters are mutually exclusive: plan\|partitions\|shard_paths",
            back | {"partitions": partitions_of(table)},
        ),
    ]
    all_refused(pair, cases, modes=(True, False))


def test_options_that_cannot_be(pair: Pair, table: Table) -> None:
    cases = [
        Case(r"min_age is '1 day', which is no duration\. Give a whole number .*", {"min_age": "1 day"}),
        Case(r"lock_wait is '-1', which is no duration\. .*", {"lock_wait": "-1"}),
        Case(r"max_parts is 0\. Give 1; a higher number is dangerous\.", {"max_parts": 0}),
        Case(
            r"coordination_root is 'partmove/', which is not the path of a znode .*",
            {"coordination_root": "partmove/"},
        ),
        Case(
            r"The HTTP port of ClickHouse is 0\. Give a port from 1 to 65535\.",
            {"clickhouse": {"port": 0}, "assume_active": False},
        ),
        Case(
            rf"The list of partitions: partition {FIRST} of {table.path} is listed twice\."
            r" List each partition of a shard path once\.",
            {"partitions": partitions_of(table, FIRST, FIRST)},
        ),
        Case(
            r"Ensemble cold has a credential but no .*|.*scheme.*",
            {"cold": pair.options["cold"] | {"auth": {"credential": "user:password"}}},
        ),
    ]
    wanted = {"partitions": partitions_of(table)}
    all_refused(pair, [Case(case.sentence, wanted | case.args) for case in cases])
