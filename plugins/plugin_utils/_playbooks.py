# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Variables and tags of the playbooks of this collection, and the facts that its roles set.

Ansible has no argument specs for playbooks, so this table stands in for them. The unit tests compare it with
the playbooks, with the tasks of the roles and with the page that describes the variables.
"""

from __future__ import annotations

from typing import NamedTuple

PAGE = "docs/reference/playbook-variables.md"
"""Documentation of the variables of all playbooks, as a path in the collection."""


class Playbook(NamedTuple):
    """The public names of one playbook.

    variables: those that begin with its name. Variables of roles are options in their argument specs.
    tags: for ``--tags`` and ``--skip-tags``.
    """

    variables: tuple[str, ...]
    tags: tuple[str, ...] = ()


PLAYBOOKS = {
    "alter_twin": Playbook(
        (
            "alter_twin_ensemble",
            "alter_twin_host",
            "alter_twin_path",
            "alter_twin_rename",
            "alter_twin_shard_paths",
            "alter_twin_statement",
            "alter_twin_truncate",
            "alter_twin_twin",
            "alter_twin_wait",
        )
    ),
    "audit": Playbook(("audit_host",)),
    "auxiliary_ensemble": Playbook(
        (
            "auxiliary_ensemble_canary",
            "auxiliary_ensemble_hosts",
            "auxiliary_ensemble_pause",
            "auxiliary_ensemble_size",
            "auxiliary_ensemble_within",
        )
    ),
    "census": Playbook(("census_host",)),
    "drop": Playbook(
        ("drop_delay", "drop_host", "drop_looks", "drop_partitions", "drop_password", "drop_user")
    ),
    "guard": Playbook(
        (
            "guard_backup",
            "guard_bring_back",
            "guard_finish",
            "guard_host",
            "guard_line",
            "guard_line_dest",
            "guard_owner",
            "guard_plan_dest",
            "guard_remove_copies",
            "guard_renew",
            "guard_repair",
            "guard_separate",
            "guard_separate_every",
            "guard_servers",
            "guard_success_metrics",
            "guard_ttl",
        )
    ),
    "merge_parts": Playbook(
        (
            "merge_parts_file",
            "merge_parts_host",
            "merge_parts_limit",
            "merge_parts_max_merges",
            "merge_parts_max_queue",
            "merge_parts_patience",
            "merge_parts_timeout",
        )
    ),
    "move_table": Playbook(
        (
            "move_table_ensemble",
            "move_table_exclude",
            "move_table_host",
            "move_table_insert_wait",
            "move_table_min_age",
            "move_table_partitions_per_second",
            "move_table_path",
            "move_table_report",
            "move_table_root",
            "move_table_shard_paths",
            "move_table_state",
            "move_table_stop_at_refusal",
            "move_table_stop_merges",
            "move_table_twin",
        )
    ),
    "reheat": Playbook(("reheat_host",)),
    "repair": Playbook(("repair_host",)),
    "rollout": Playbook(
        ("rollout_canary", "rollout_hosts", "rollout_pause", "rollout_size", "rollout_within")
    ),
    "separate": Playbook(
        ("separate_host", "separate_renew", "separate_servers"),
        tags=("classify", "move"),
    ),
    "twin_repair": Playbook(
        (
            "twin_repair_host",
            "twin_repair_kept_parts_are_unneeded",
            "twin_repair_kind",
            "twin_repair_partitions",
            "twin_repair_shard_paths",
        )
    ),
    "twin_view": Playbook(
        (
            "twin_view_ensemble",
            "twin_view_host",
            "twin_view_in_front",
            "twin_view_name",
            "twin_view_path",
            "twin_view_shard_paths",
            "twin_view_twin",
        )
    ),
    "while_hot": Playbook(
        (
            "while_hot_delay",
            "while_hot_host",
            "while_hot_looks",
            "while_hot_partitions",
            "while_hot_password",
            "while_hot_servers",
            "while_hot_shard_paths",
            "while_hot_statements",
            "while_hot_tasks",
            "while_hot_timeout",
            "while_hot_user",
        )
    ),
    "zookeeper": Playbook(("zookeeper_hosts",)),
}

FACTS = {
    "auxiliary_ensemble": ("auxiliary_ensemble_server",),
    "clickhouse_node": ("clickhouse_node_renewed", "clickhouse_node_server"),
    "cold_zookeeper_config": (
        "cold_zookeeper_config_changed",
        "cold_zookeeper_config_restart_needed",
        "cold_zookeeper_config_result",
    ),
    "part_move": ("part_move_result",),
    "partition_classify": ("partition_classify_plan", "partition_classify_result"),
    "partmove_audit": ("partmove_audit_result",),
    "partmove_census": ("partmove_census_result",),
    "partmove_repair": ("partmove_repair_result",),
    "twin_move": ("twin_move_result",),
}
"""Role → public facts of its tasks, which are variables for later tasks of the host."""

OF_OTHER_HOSTS = {"zookeeper": ("zookeeper_address",)}
"""Role → variables of other hosts, for which the role cannot have argument specs."""
