#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: census_info
short_description: Tell what fills a ZooKeeper ensemble, and what of it need not be there
version_added: 0.1.0
description:
  - Reads every znode of the ensemble of a ClickHouse cluster and adds them up by kind, by table, by replica
    and, what is in no table, by path. For some it tells how to have fewer of them, with the reason and the
    statements to give.
  - Works with every ClickHouse, whether or not it knows a cold ensemble. Nothing is written.
  - With O(clickhouse) servers are asked which tables they have, and tables that no server has are reported.
    Nothing is said about that where one of them does not answer, or where servers were not named.
  - The answer describes a tree that servers go on changing while it is read. To put no load on an ensemble,
    let the role P(olap.partmove.partmove_census#role) read copies of its files instead.
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
    description: All ClickHouse servers that use the ensemble. Without it none is asked.
  coordination_root:
    description: Znode below which this collection keeps locks and epochs.
    type: str
    default: /partmove
  ddl_path:
    description:
      - Znode of the queue of distributed DDL, as C(path) of C(<distributed_ddl>) has it, without a slash at
        its end.
    type: str
    default: /clickhouse/task_queue/ddl
  znodes_per_second:
    description:
      - How many znodes to read in a second, so that other clients of the member are not held up; V(0) for as
        many as can be. Children and data of a znode are read one after the other, and each counts.
    type: int
    default: 0
  inactive_after:
    description: How long a replica without a session has to have written nothing to be told of.
    type: str
    default: 7d
  stuck_after:
    description:
      - From which age on an entry of a queue, a mutation that is not finished, or the last change of a table
        that no server has, is reported.
    type: str
    default: 1d
  unused_after:
    description: From which age on a partition without parts is reported.
    type: str
    default: 30d
  queue_length:
    description: With how many entries in its queue a replica is told of.
    type: int
    default: 1000
  log_entries:
    description: How many entries of a log only replicas without a session have to need to be told of.
    type: int
    default: 100
  deduplication_window:
    description:
      - What C(replicated_deduplication_window) is on the servers. A table is told of that has more than twice
        as many hashes of blocks.
    type: int
    default: 1000
  finished_mutations_to_keep:
    description:
      - What C(finished_mutations_to_keep) is on the servers. A table is told of that has more than twice as
        many.
    type: int
    default: 100
  ddl_tasks:
    description: What C(max_tasks_in_queue) of C(<distributed_ddl>) is on the servers.
    type: int
    default: 1000
seealso:
  - module: olap.partmove.part_info
"""

EXAMPLES = r"""
- name: See what fills the ensemble
  olap.partmove.census_info:
    hot:
      hosts: [zk1:2181, zk2:2181, zk3:2181]
  register: census

- name: Tell it, the largest first
  ansible.builtin.debug:
    var: census.summary

- name: List tables that no server has any more
  olap.partmove.census_info:
    hot:
      hosts: [zk1:2181, zk2:2181, zk3:2181]
    clickhouse:
      hosts: [ch1, ch2, ch3]
      user: monitor
      password: "{{ monitor_password }}"
  register: census
  failed_when: census.servers.unjudged != ""

- name: List replicas that nobody starts any more
  ansible.builtin.debug:
    msg: "{{ away | map(attribute='statements') | flatten }}"
  vars:
    away: "{{ census.advice | selectattr('kind', 'eq', 'replica_without_session') }}"
"""

RETURN = r"""
as_of:
  description: When the census was taken, in UTC.
  returned: success
  type: str
  sample: "2026-11-22T07:00:00.000Z"
complete:
  description: Whether all znodes could be read.
  returned: success
  type: bool
denied:
  description:
    - What the identity may not read. Neither these znodes nor what is below them is counted. Of a table that
      they are in nothing is told that they may make untrue.
  returned: success
  type: dict
  contains:
    znodes:
      description: How many znodes may not be read.
      type: int
    paths:
      description: Their paths, the first 1000 that were met, sorted.
      type: list
      elements: str
znodes:
  description:
    - How many znodes there are. The ensemble counts its root twice, so that C(zk_znode_count) is one more.
  returned: success
  type: int
  sample: 1204410
bytes:
  description: Bytes of all paths and data, as C(zk_approximate_data_size) of the ensemble.
  returned: success
  type: int
ephemerals:
  description: How many of the znodes are ephemeral.
  returned: success
  type: int
kinds:
  description: The znodes by what they are there for, the most first.
  returned: success
  type: list
  elements: dict
  contains:
    kind:
      description: Name of the kind. Each znode is of one.
      type: str
    means:
      description: What znodes of this kind are.
      type: str
    znodes:
      description: How many there are.
      type: int
    bytes:
      description: Bytes of their paths and data.
      type: int
tables:
  description: The tables, the one with most znodes first.
  returned: success
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the table.
      type: str
    znodes:
      description: How many znodes it has.
      type: int
    bytes:
      description: Bytes of their paths and data.
      type: int
    complete:
      description: Whether all of its znodes could be read.
      type: bool
    kinds:
      description: Kinds with their numbers of znodes.
      type: dict
    replicas:
      description:
        - Its replicas by name, each as C(replica), C(znodes), C(bytes), C(kinds), C(has_session), C(is_lost)
          and C(last_change).
      type: list
      elements: dict
replicas:
  description:
    - Replicas of one name in all tables, which are mostly on one server, as C(replica), C(tables), C(znodes)
      and C(bytes), the most znodes first.
  returned: success
  type: list
  elements: dict
others:
  description:
    - What is in no table, by the topmost path that is no parent of a table, as C(name), C(znodes) and
      C(bytes). That is other software, and tables that were not dropped completely.
  returned: success
  type: list
  elements: dict
unknown:
  description: Znodes below tables with names that no known server uses, as C(name), C(znodes) and C(bytes).
  returned: success
  type: list
  elements: dict
servers:
  description: What asking servers came to; none where none was to be asked.
  returned: success
  type: dict
  contains:
    asked:
      description: How many servers were asked.
      type: int
    unjudged:
      description: Why it was not judged which tables no server has; empty where it was.
      type: str
advice:
  description: What may be done, that which saves most first.
  returned: success
  type: list
  elements: dict
  contains:
    kind:
      description:
        - V(legacy_headers), V(table_on_no_server), V(table_without_session), V(replica_without_session),
          V(log_held), V(long_queue), V(many_blocks), V(mutation_unfinished), V(mutations_kept),
          V(partitions_gone) or V(ddl_queue).
      type: str
    means:
      description: What is so.
      type: str
    remedy:
      description: What to do about it.
      type: str
    path:
      description: The shard path, or the path of the queue of distributed DDL.
      type: str
    replica:
      description: The replica; empty where it is not about one.
      type: str
    znodes:
      description: How many znodes go when it is followed.
      type: int
    evidence:
      description: What in the ensemble says so.
      type: str
    statements:
      description: What to run or to configure. Names that the ensemble does not have are an ellipsis.
      type: list
      elements: str
summary:
  description: Lines for people, the largest first.
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
            "inactive_after": {"type": "str", "default": "7d"},
            "stuck_after": {"type": "str", "default": "1d"},
            "unused_after": {"type": "str", "default": "30d"},
            "queue_length": {"type": "int", "default": 1000},
            "log_entries": {"type": "int", "default": 100},
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
