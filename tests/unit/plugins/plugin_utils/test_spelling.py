# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which names of variables count as misspelled, and where a variable is described."""

from __future__ import annotations

import time

import pytest

from ansible_collections.olap.partmove.plugins.plugin_utils import _spelling
from ansible_collections.olap.partmove.plugins.plugin_utils._playbooks import PLAYBOOKS
from ansible_collections.olap.partmove.plugins.plugin_utils._spelling import (
    DISTINCTIVE,
    SHARED,
    described_in,
    known_of,
    misspelled,
)

ROLES = sorted(path.name for path in _spelling.ROLES.iterdir())
EVERYTHING = {*PLAYBOOKS, *ROLES}
STRANGERS = [
    "audit_log",
    "census_year",
    "clickhouse_node_id",
    "clickhouse_node_port",
    "clickhouse_node_version",
    "drop_caches",
    "drop_database",
    "drop_table",
    "guard_enabled",
    "repair_mode",
    "rollout_percent",
    "rollout_strategy",
    "separate_disks",
    "zookeeper_client_port_address",
    "zookeeper_cluster",
    "zookeeper_data_path",
    "zookeeper_heap_size",
    "zookeeper_home",
    "zookeeper_id",
    "zookeeper_java_opts",
    "zookeeper_leader_port",
    "zookeeper_log_dir",
    "zookeeper_max_client_cnxns",
    "zookeeper_nodes",
    "zookeeper_port",
    "zookeeper_servers",
    "zookeeper_ssl",
    "zookeeper_user",
    "zookeeper_version",
]
"""Variables that users or other published roles have."""


@pytest.mark.parametrize(
    ("name", "meant", "running"),
    [
        ("part_move_max_part_per_second", "part_move_max_parts_per_second", []),
        ("partition_classify_root_path", "partition_classify_root", []),
        ("while_hot_statement", "while_hot_statements", ["part_move"]),
        ("rollout_szie", "rollout_size", ["rollout", "clickhouse_node"]),
        ("clickhouse_node_drain_task", "clickhouse_node_drain_tasks", ["clickhouse_node"]),
        ("auxiliary_ensemble_canray", "auxiliary_ensemble_canary", ["auxiliary_ensemble"]),
    ],
)
def test_a_misspelled_name_is_found_with_the_one_that_is_meant(
    name: str, meant: str, running: list[str]
) -> None:
    (found,) = misspelled([name, "inventory_hostname", meant], running)
    assert (found.name, found.meant, found.certain) == (name, meant, True)


def test_a_distinctive_prefix_is_refused_however_different_the_name_is() -> None:
    assert [each.name for each in misspelled(["twin_move_nonsense"], [])] == ["twin_move_nonsense"]


def test_internal_names_are_right() -> None:
    assert list(misspelled(["part_move__x", "drop__row", "part_move_x__y"], EVERYTHING)) == []


def test_variables_of_others_are_right() -> None:
    assert list(misspelled(STRANGERS, EVERYTHING)) == []


def test_a_name_of_another_zookeeper_role_is_not_certainly_wrong() -> None:
    found = list(misspelled(["zookeeper_host", "zookeeper_package", "zookeeper_ticktime"], ["zookeeper"]))
    assert len(found) == 3
    assert not any(each.certain for each in found)


def test_a_prefix_that_is_not_distinctive_counts_only_where_it_runs() -> None:
    assert list(misspelled(["drop_partitons", "zookeeper_membrs"], ["part_move"])) == []


@pytest.mark.parametrize("owner", sorted(EVERYTHING))
def test_every_known_name_is_right(owner: str) -> None:
    assert list(misspelled(known_of(owner), EVERYTHING)) == []


def test_sets_of_prefixes_name_roles_and_playbooks() -> None:
    assert DISTINCTIVE <= EVERYTHING
    assert SHARED <= EVERYTHING - DISTINCTIVE


def test_a_check_of_a_large_inventory_is_quick() -> None:
    variables = [*STRANGERS, *known_of("part_move"), *(f"user_variable_{number}" for number in range(5000))]
    # Of this process alone: others may be at work beside it.
    began = time.process_time()
    assert list(misspelled(variables, EVERYTHING)) == []
    assert time.process_time() - began < 2


def test_a_variable_is_described_by_its_role_or_on_the_page_of_playbooks() -> None:
    assert described_in("part_move_hot", ["part_move"]) == "`ansible-doc --type role olap.partmove.part_move`"
    assert described_in("twin_move_hot", []) == "`ansible-doc --type role olap.partmove.twin_move`"
    assert (
        described_in("drop_partitions", ["part_move"])
        == "docs/reference/playbook-variables.md of the collection"
    )
