# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The inventory plugin clickhouse_shards on configuration files, by ansible-inventory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.olap.partmove.plugins.inventory.clickhouse_shards import InventoryModule
from support.ansible.inventory import run_inventory

NAME = "olap.partmove.clickhouse_shards"
DEBIAN = Path("/etc/clickhouse-server/config.xml")

METRIKA = """<yandex><clickhouse_remote_servers><main>
<shard><replica><host>ch1</host><port>9000</port><password>SECRET</password></replica>
<replica><host>ch2</host><port>9000</port></replica></shard>
<shard><replica><host>ch3</host><port>9000</port></replica></shard>
</main><spare-1><shard><replica><host>ch9</host><port>9000</port></replica></shard></spare-1>
</clickhouse_remote_servers></yandex>"""


def test_hosts_groups_and_what_is_made_of_them(tmp_path: Path) -> None:
    (tmp_path / "metrika.xml").write_text(METRIKA)
    source: dict[str, Any] = {
        "plugin": NAME,
        "config": "metrika.xml",
        "strict": True,
        "compose": {"ansible_host": "clickhouse_cluster ~ '-' ~ inventory_hostname"},
        "groups": {"canary": "clickhouse_cluster == 'main' and clickhouse_shard == 1"},
        "keyed_groups": [{"key": "clickhouse_replica | string", "prefix": "replica"}],
    }
    run = run_inventory(tmp_path, source)
    assert run.status == 0, run.output
    assert run.inventory["all"]["children"][:3] == ["ungrouped", "main", "spare_1"]
    assert run.inventory["main"]["children"] == ["main_shard_1", "main_shard_2"]
    assert run.hosts("main_shard_1") == ["ch1", "ch2"]
    assert run.hosts("main_shard_2") == ["ch3"]
    assert run.hosts("spare_1_shard_1") == ["ch9"]
    assert run.hosts("canary") == ["ch1", "ch2"]
    assert run.hosts("replica_1") == ["ch1", "ch3", "ch9"]
    assert run.variables("ch2") == {
        "ansible_host": "main-ch2",
        "clickhouse_cluster": "main",
        "clickhouse_shard": 1,
        "clickhouse_replica": 2,
        "clickhouse_port": 9000,
        "clickhouse_weight": 1,
        "clickhouse_secure": False,
        "clickhouse_internal_replication": False,
        "clickhouse_memberships": [{"cluster": "main", "shard": 1, "replica": 2}],
    }
    assert "SECRET" not in run.output


def test_the_configuration_of_the_package(clickhouse: str, tmp_path: Path) -> None:
    source = {"plugin": NAME, "config": str(DEBIAN), "clusters": ["test_cluster_two_shards_localhost"]}
    run = run_inventory(tmp_path, source)
    assert run.status == 0, run.output
    assert [name for name in run.inventory if "shard_" in name] == [
        "test_cluster_two_shards_localhost_shard_1",
        "test_cluster_two_shards_localhost_shard_2",
    ]
    memberships = run.variables("localhost")["clickhouse_memberships"]
    assert [each["shard"] for each in memberships] == [1, 2]


def test_what_cannot_be_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "metrika.xml").write_text(METRIKA)
    common = {"plugin": NAME, "config": "metrika.xml"}
    for source, message in (
        ({"plugin": NAME}, "needs exactly one of config and host"),
        ({**common, "clusters": ["other"]}, "There is no cluster other; there are main, spare-1."),
        (
            {**common, "strict": True, "groups": {"x": "no_such_variable"}},
            "Could not add host ch1 to group x",
        ),
    ):
        run = run_inventory(tmp_path, source)
        assert run.status != 0
        assert message in " ".join(run.output.split())
        assert "Traceback" not in run.output


def test_files_of_other_names_are_left_to_other_plugins(tmp_path: Path) -> None:
    names = {
        "clickhouse_shards.yml": True,
        "main.clickhouse_shards.yaml": True,
        "clickhouse_shards.yml.bak": False,
        "hosts.yml": False,
    }
    for name in names:
        (tmp_path / name).write_text("plugin: x")
    plugin = InventoryModule()
    assert {name: plugin.verify_file(str(tmp_path / name)) for name in names} == names
    assert not plugin.verify_file(str(tmp_path / "not_there.clickhouse_shards.yml"))
