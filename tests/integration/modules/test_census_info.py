# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A census of a real server: as much as the server counts, and the same from a session and from its files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

from partition_classify.census import census_of
from support.ansible.calls import Call, run_modules
from support.memory.tables import TableOptions, build_table, days, read_tree, register
from support.servers.zookeeper import Ensemble

Connect = Callable[[str], KazooClient]
COUNTED = ("znodes", "bytes", "ephemerals", "kinds", "tables", "replicas", "others", "unknown")
LEGACY, PLAIN = "/clickhouse/tables/01/legacy", "/clickhouse/tables/01/plain"


def live(ensemble: Ensemble, *, check: bool = False, **options: Any) -> dict[str, Any]:
    hosts = {"hosts": [member.address for member in ensemble.members]}
    (result,) = run_modules(Call("census_info", {"hot": hosts, **options}, check))
    return result


def from_files(ensemble: Ensemble, folder: Path, **options: Any) -> dict[str, Any]:
    (member,) = ensemble.members
    shutil.copytree(member.data_dir, folder)
    return census_of({"files": {"data_dir": str(folder)}, **options})


def fill(client: KazooClient) -> None:
    """Tables and what else an ensemble may have."""
    build_table(client, LEGACY, TableOptions(partitions=days(30), legacy=True))
    build_table(client, PLAIN, TableOptions(replicas=("r1", "r2", "r3"), partitions=days(20)))
    for path in (
        "/kafka/brokers/ids",
        "/clickhouse/tables/01/former/replicas",
        "/clickhouse/task_queue/ddl/query-0000000001/finished/host",
        "/partmove/locks",
        f"{PLAIN}/new_thing/x",
        f"{PLAIN}/mutations/0000000001",
        f"{PLAIN}/log/log-0000000001",
        f"{LEGACY}/blocks/20190101_1_2",
        f"{LEGACY}/replicas/r1/queue/queue-0000000001",
        "/ünïcode",
    ):
        client.create(path, b"data", makepath=True)


def change(client: KazooClient) -> None:
    """Of everything something goes, comes or changes."""
    client.delete(PLAIN, recursive=True)
    table = build_table(client, PLAIN, TableOptions(partitions=days(5)))
    register(client, table, "r9", days(3))
    client.delete(f"{LEGACY}/replicas/r1/parts/20190101_0_0_0", recursive=True)
    client.set(f"{LEGACY}/replicas/r1/log_pointer", b"1234")
    client.create("/kafka/more", b"x" * 1000)


@pytest.mark.parametrize("restarted", [False, True], ids=["from the log", "from a snapshot and the log"])
def test_as_many_as_the_server_counts_in_files_and_by_a_session(
    restarted: bool, connect: Connect, tmp_path: Path
) -> None:
    # One of its own: nobody writes between the questions.
    with Ensemble(tmp_path / "server") as ensemble:
        client = connect(ensemble.connect_string)
        fill(client)
        if restarted:
            # A server that starts writes a snapshot.
            ensemble.stop()
            ensemble.start()
            # One that connects while the server starts can wait for its answer until its session is over.
            client = connect(ensemble.connect_string)
            change(client)
        (member,) = ensemble.members
        before = read_tree(client)
        by_session = live(ensemble)
        counted = member.monitor()
        by_files = from_files(ensemble, tmp_path / "copy")
        assert {name: by_session[name] for name in COUNTED} == {name: by_files[name] for name in COUNTED}
        # Only the root has two names in a server, "" and "/".
        assert by_session["znodes"] == int(counted["zk_znode_count"]) - 1
        assert by_session["ephemerals"] == int(counted["zk_ephemerals_count"])
        # A server counts characters.
        assert by_session["bytes"] == int(counted["zk_approximate_data_size"]) + 2
        assert live(ensemble, check=True)["znodes"] == by_session["znodes"]
        assert read_tree(client) == before
        names = {each["name"] for each in by_session["others"]}
        assert names == {"/kafka", "/clickhouse/tables/01/former", "/ünïcode"}
        assert [each["name"] for each in by_session["unknown"]] == ([] if restarted else ["new_thing"])
        assert {each["shard_path"] for each in by_session["tables"]} == {LEGACY, PLAIN}


def test_what_an_acl_keeps_from_it_is_named_and_the_rest_counted(connect: Connect, tmp_path: Path) -> None:
    with Ensemble(tmp_path / "server") as ensemble:
        client = connect(ensemble.connect_string)
        fill(client)
        whole = live(ensemble)
        assert (whole["complete"], whole["denied"]) == (True, {"znodes": 0, "paths": []})
        secrets = [
            "/kafka",
            "/ünïcode",
            f"{LEGACY}/replicas/r1/parts/20190101_0_0_0",
            f"{PLAIN}/block_numbers",
        ]
        for path in secrets:
            client.set_acls(path, [make_digest_acl("alice", "wonder", all=True)])
        found = live(ensemble)
        by_files = from_files(ensemble, tmp_path / "copy")
    assert found["complete"] is False
    assert found["denied"] == {"znodes": 4, "paths": sorted(secrets)}
    # What is below them: two of /kafka, two of the part, and each partition.
    assert found["znodes"] == whole["znodes"] - 4 - 2 - 2 - 20
    assert {each["shard_path"]: each["complete"] for each in found["tables"]} == {LEGACY: False, PLAIN: False}
    assert {each["kind"] for each in found["advice"]} == {"legacy_headers"}
    assert found["summary"][1].startswith("not complete: 4 znodes are unreadable ")
    assert {name: by_files[name] for name in COUNTED} == {name: whole[name] for name in COUNTED}
    assert by_files["complete"] is True


def test_a_chroot_is_the_root_of_a_census(connect: Connect, tmp_path: Path) -> None:
    with Ensemble(tmp_path / "server") as ensemble:
        client = connect(ensemble.connect_string)
        build_table(client, "/one/clickhouse/hits")
        build_table(client, "/other/clickhouse/hits")
        (member,) = ensemble.members
        hosts = {"hosts": [member.address], "chroot": "/one"}
        (by_session,) = run_modules(Call("census_info", {"hot": hosts}, False))
        shutil.copytree(member.data_dir, tmp_path / "copy")
        by_files = census_of({"files": {"data_dir": str(tmp_path / "copy"), "chroot": "/one"}})
        assert {name: by_session[name] for name in COUNTED} == {name: by_files[name] for name in COUNTED}
        assert [each["shard_path"] for each in by_files["tables"]] == ["/clickhouse/hits"]
        assert by_files["others"] == []


def test_replicas_whose_session_has_ended_are_found_in_files_and_by_a_session(
    connect: Connect, tmp_path: Path
) -> None:
    with Ensemble(tmp_path / "server") as ensemble:
        client = connect(ensemble.connect_string)
        build_table(client, PLAIN)
        ensemble.stop()
        ensemble.start()
        client.retry(client.get, PLAIN)
        client.stop()
        connect(ensemble.connect_string).create("/later")
        options: dict[str, Any] = {"inactive_after": "0"}
        results = live(ensemble, **options), from_files(ensemble, tmp_path / "copy", **options)
        for result in results:
            (advice,) = result["advice"]
            assert (advice["kind"], advice["path"]) == ("table_without_session", PLAIN)
            assert advice["znodes"] == result["tables"][0]["znodes"]
            assert result["ephemerals"] == 0
