#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: census_info
short_description: Count what fills a ZooKeeper ensemble, and report znodes that could be removed
version_added: 1.0.0
description:
  - Reads every znode of the ensemble of a ClickHouse cluster. Adds up znodes and bytes by kind, by table and
    by replica; outside of tables by path. Advises how to reduce some kinds, with the reason and the
    statements.
  - Works with every ClickHouse, with or without a cold ensemble. Writes nothing.
  - With O(clickhouse) the module asks servers for their tables, and reports tables that no server has. If a
    server does not answer or no servers are given, tables without a server are not reported.
  - Servers continue to change the znodes during the read. To put no load on an ensemble, use the role
    P(olap.partmove.partmove_census#role), which reads copies of its files.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles.one
  - olap.partmove.clickhouse_server.named
  - olap.partmove.attributes
  - olap.partmove.attributes.read_only
  - olap.partmove.attributes.action_group
options:
  clickhouse:
    description:
      - All ClickHouse servers of the ensemble. Without this option no server is queried, and RV(advice) has
        no statement that deletes.
      - The user needs C(SHOW TABLES ON *.*) and C(SELECT ON system.*). A server that hides tables from the
        user is reported in RV(servers).
  coordination_root:
    description: Znode with the locks and epochs of this collection.
    type: str
    default: /partmove
  ddl_path:
    description:
      - Znode of the queue of distributed DDL, C(path) in C(<distributed_ddl>), without a slash at the end.
    type: str
    default: /clickhouse/task_queue/ddl
  znodes_per_second:
    description:
      - Maximum number of znodes to read per second, which protects other clients of the member; V(0) for no
        limit. Children and data of a znode are separate reads, and each counts.
    type: int
    default: 0
  latency_target:
    description:
      - Seconds that the reads may add to the latency of the ensemble. The module measures the latency all the
        time, and adapts how many reads its requests have, and how many of them are in flight.
      - With V(0) the module reads at full speed.
    type: float
    default: 0.005
  inactive_after:
    description: Minimum time without a session and without a write before a replica is reported.
    type: str
    default: 7d
  stuck_after:
    description:
      - Minimum age of a reported queue entry, unfinished mutation, or last change of a table that no server
        has.
    type: str
    default: 1d
  unused_after:
    description: Minimum age of a reported partition without parts.
    type: str
    default: 30d
  queue_length:
    description: Minimum length of the queue of a reported replica.
    type: int
    default: 1000
  log_entries:
    description: Minimum number of reported log entries that are kept only for replicas without a session.
    type: int
    default: 100
  passed_log_entries:
    description: Minimum number of reported log entries that no replica needs any more.
    type: int
    default: 1000
  deduplication_window:
    description:
      - Setting C(replicated_deduplication_window) of the servers. A table with more than twice as many block
        hashes is reported.
    type: int
    default: 1000
  finished_mutations_to_keep:
    description:
      - Setting C(finished_mutations_to_keep) of the servers. A table with more than twice as many finished
        mutations is reported.
    type: int
    default: 100
  ddl_tasks:
    description: Setting C(max_tasks_in_queue) in C(<distributed_ddl>) of the servers.
    type: int
    default: 1000
seealso:
  - module: olap.partmove.part_info
"""

EXAMPLES = r"""
- name: Count the znodes of the ensemble
  olap.partmove.census_info:
    hot:
      hosts: [zk1:2181, zk2:2181, zk3:2181]
  register: census

- name: Show the summary, the largest first
  ansible.builtin.debug:
    var: census.summary

- name: Read the census, with tables that no server has
  olap.partmove.census_info:
    hot:
      hosts: [zk1:2181, zk2:2181, zk3:2181]
    clickhouse:
      hosts: [ch1, ch2, ch3]
      user: monitor
      password: "{{ monitor_password }}"
  register: census
  failed_when: census.servers.unjudged != ""

- name: Show statements for replicas without a session
  ansible.builtin.debug:
    msg: "{{ away | map(attribute='statements') | flatten }}"
  vars:
    away: "{{ census.advice | selectattr('kind', 'eq', 'replica_without_session') }}"
"""

RETURN = r"""
as_of:
  description: Time of the census, in UTC.
  returned: success
  type: str
  sample: "2026-11-22T07:00:00.000Z"
complete:
  description: Whether all znodes were readable.
  returned: success
  type: bool
denied:
  description:
    - Znodes that the identity may not read. These znodes and their descendants are not counted. Advice that
      unreadable znodes of a table could make wrong is left out.
  returned: success
  type: dict
  contains:
    znodes:
      description: Number of unreadable znodes.
      type: int
    paths:
      description: Paths of the first 1000 unreadable znodes, sorted.
      type: list
      elements: str
znodes:
  description:
    - Number of znodes. The ensemble counts its root twice, so C(zk_znode_count) is greater by one.
  returned: success
  type: int
  sample: 1204410
bytes:
  description: Bytes of all paths and data, like C(zk_approximate_data_size) of the ensemble.
  returned: success
  type: int
ephemerals:
  description: Number of ephemeral znodes.
  returned: success
  type: int
kinds:
  description: Znodes by purpose, the largest number first.
  returned: success
  type: list
  elements: dict
  contains:
    kind:
      description: Name of the kind. Each znode has one kind.
      type: str
    means:
      description: Purpose of znodes of this kind.
      type: str
    znodes:
      description: Number of znodes.
      type: int
    bytes:
      description: Bytes of their paths and data.
      type: int
part_ages:
  description:
    - Znodes of registered parts, columns and checksums included, by age. Moves of cold partitions can take at
      most these znodes out of the ensemble.
    - A partition that still gets new parts stays, so that the gain is smaller. A plan has the exact gain, see
      the role P(olap.partmove.partition_classify#role).
  returned: success
  type: list
  elements: dict
  contains:
    days:
      description: Least age in calendar days (UTC) since the part was registered. Ages are 30, 90 and 365.
      type: int
    znodes:
      description: Number of znodes of parts of at least that age, over all replicas.
      type: int
    bytes:
      description: Bytes of their paths and data.
      type: int
tables:
  description: The tables, the largest number of znodes first.
  returned: success
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the table.
      type: str
    znodes:
      description: Number of znodes of the table.
      type: int
    bytes:
      description: Bytes of their paths and data.
      type: int
    complete:
      description: Whether all znodes of the table were readable.
      type: bool
    kinds:
      description: Number of znodes by kind.
      type: dict
    replicas:
      description:
        - Replicas of the table by name, each as C(replica), C(znodes), C(bytes), C(kinds), C(has_session),
          C(is_lost) and C(last_change).
      type: list
      elements: dict
replicas:
  description:
    - Replicas of the same name in all tables, usually on one server. Each has C(replica), C(tables),
      C(znodes) and C(bytes); the largest number of znodes first.
  returned: success
  type: list
  elements: dict
others:
  description:
    - Znodes outside of tables, by the topmost path that is no parent of a table, as C(name), C(znodes) and
      C(bytes). Such znodes belong to other software, and to tables that were not dropped completely.
  returned: success
  type: list
  elements: dict
unknown:
  description: Znodes below tables with names that no known server uses, as C(name), C(znodes) and C(bytes).
  returned: success
  type: list
  elements: dict
servers:
  description: Result of querying the servers; null without O(clickhouse).
  returned: success
  type: dict
  contains:
    asked:
      description: Number of queried servers.
      type: int
    unjudged:
      description: Reason why tables without a server were not judged; empty if they were judged.
      type: str
advice:
  description: Possible reductions, the largest saving first.
  returned: success
  type: list
  elements: dict
  contains:
    kind:
      description:
        - V(legacy_headers), V(table_on_no_server), V(table_without_session), V(table_below_table),
          V(replica_without_session), V(log_held), V(log_passed), V(long_queue), V(many_blocks),
          V(mutation_unfinished), V(mutations_kept), V(partitions_gone) or V(ddl_queue).
      type: str
    means:
      description: Description of the finding.
      type: str
    remedy:
      description: Next step.
      type: str
    path:
      description: The shard path, or the path of a queue of distributed DDL.
      type: str
    replica:
      description: The replica; empty for a finding without a replica.
      type: str
    znodes:
      description: Number of znodes that the next step removes.
      type: int
    evidence:
      description:
        - Evidence in the ensemble and of the servers, and what is missing for a statement that deletes.
      type: str
    statements:
      description:
        - Statements or settings to apply. An ellipsis stands for names that the ensemble does not have.
        - Statements that delete are given only if every queried server answered, no session and no other
          table is at or below the path, and no server has the replica or needs the partition.
      type: list
      elements: str
summary:
  description: Results in lines for people, the largest first.
  returned: success
  type: list
  elements: str
"""

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.olap.partmove.plugins.module_utils._tasks import argspec
from ansible_collections.olap.partmove.plugins.module_utils._tasks.runner import Task, run


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "hot": argspec.ensemble(),
            "clickhouse": argspec.clickhouse_servers(),
            "coordination_root": argspec.COORDINATION_ROOT,
            "ddl_path": {"type": "str", "default": "/clickhouse/task_queue/ddl"},
            "znodes_per_second": {"type": "int", "default": 0},
            **argspec.LATENCY_TARGET,
            "inactive_after": {"type": "str", "default": "7d"},
            "stuck_after": {"type": "str", "default": "1d"},
            "unused_after": {"type": "str", "default": "30d"},
            "queue_length": {"type": "int", "default": 1000},
            "log_entries": {"type": "int", "default": 100},
            "passed_log_entries": {"type": "int", "default": 1000, "no_log": False},
            "deduplication_window": {"type": "int", "default": 1000},
            "finished_mutations_to_keep": {"type": "int", "default": 100},
            "ddl_tasks": {"type": "int", "default": 1000},
        },
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.census_info import CensusInfo

    return CensusInfo(params)


if __name__ == "__main__":
    main()
