#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: twin_audit_info
short_description: Tell what tables and their cold twins have that does not fit
version_added: 0.1.0
description:
  - Compares, of every partition of tables that have a cold twin, what both tables have on every replica with
    the record that M(olap.partmove.twin_move) keeps of partitions that are between them. Each partition
    is of exactly one kind, and the kinds that are not sound come with the way out.
  - Most of them end with another run of M(olap.partmove.twin_move). Where a person has to act,
    RV(findings[].statements) has the SQL.
  - Nothing is written and no statement is given that changes anything. The module succeeds whatever it finds,
    and fails when the ensemble does not answer. Where a server does not answer, the table is V(not_judged),
    and RV(complete) is false.
  - What is not sound is reported only where two looks see it, as servers and runs go on meanwhile. While a
    run holds the lock of a table, what it is in the middle of is V(not_judged).
notes:
  - The kinds are listed in C(docs/twin/audit.md).
  - An insert into a twin is told by servers that have C(zookeeperName) in C(system.zookeeper), as long as
    they remember it.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles.one
  - olap.partmove.twins
  - olap.partmove.twins.records
  - olap.partmove.clickhouse_server.replicas
  - olap.partmove.load
  - olap.partmove.load.progress
  - olap.partmove.attributes
  - olap.partmove.attributes.read_only
  - olap.partmove.attributes.action_group
options:
  clickhouse:
    description: How to ask the ClickHouse servers of the replicas. The user has to be allowed to read the
      database C(system).
    required: true
  shard_paths:
    description:
      - ZooKeeper paths of the hot tables to audit, as C(system.replicas) has them in C(zookeeper_path).
      - Exactly one of O(shard_paths) and O(root) is needed.
    type: list
    elements: str
  root:
    description: Path that all tables at and below it are to be audited, V(/) for all there are. Those that
      have no twin are V(without_twin). Records of tables that are gone are told as well.
    type: str
  details:
    description: Whether to return what is sound besides what is not.
    type: str
    choices: [findings, all]
    default: findings
seealso:
  - module: olap.partmove.twin_move
  - module: olap.partmove.twin_table
  - module: olap.partmove.part_audit_info
"""

EXAMPLES = r"""
- name: See whether a table and its twin are as they should be
  olap.partmove.twin_audit_info:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    clickhouse:
      user: monitor
      password: "{{ monitor_password }}"
    shard_paths:
      - /clickhouse/tables/01/hits
  register: audit

- name: Show what was found, the worst first
  ansible.builtin.debug:
    var: audit.summary

- name: Show the statements for what a person has to act on
  ansible.builtin.debug:
    msg: "{{ audit.findings | selectattr('statements') | map(attribute='statements') }}"
"""

RETURN = r"""
findings:
  description: What is not sound, with O(details=all) also what is; the worst kind first, then by shard path,
    partition and replica.
  returned: when the options could be used
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the hot table.
      type: str
    partition:
      description: Id of the partition; empty for what is about the tables.
      type: str
    replica:
      description: Name of the replica; empty for what is about all of them.
      type: str
    kind:
      description: What it is, a key of RV(kinds).
      type: str
    means:
      description: The same as a sentence without its full stop.
      type: str
    parts:
      description: Names of the parts that it is so for, sorted.
      type: list
      elements: str
    reason:
      description: What was seen, or why it was not judged; empty where the kind says it all.
      type: str
    remedy:
      description: What to do about it; empty for what is sound.
      type: str
    statements:
      description: What a person may give to a server, in this order, once the way out says so.
      type: list
      elements: str
    record:
      description: Path of the znode in hot that has the record of the partition; empty where there is none.
      type: str
    seen_twice:
      description: Whether readers of both tables see rows of the partition twice, or may do so.
      type: bool
  sample:
    - shard_path: /clickhouse/tables/01/hits
      partition: "20191201"
      replica: ""
      kind: equal
      means: both tables have the partition, each part of the table equals a part of the twin, and no record
        explains the copies
      parts: [20191201_0_5_2]
      reason: 1 of 1 parts of the table equal parts of the twin
      remedy: If these are the same rows, run the statements of the finding: they drop …
      statements: ["ALTER TABLE db.hits DROP PART '20191201_0_5_2'"]
      record: ""
      seen_twice: true
kinds:
  description: How many partitions and tables are of each kind, with a key for every kind there is.
  returned: when the options could be used
  type: dict
  sample: {equal: 1, cold: 334, hot: 30}
seen_twice:
  description: Partitions of which readers of both tables see rows twice, or may do so, as C(shard_path) and
    C(partition), the worst first.
  returned: when the options could be used
  type: list
  elements: dict
drifted:
  description: Whether something is not as it should be.
  returned: when the options could be used
  type: bool
complete:
  description: Whether everything could be judged.
  returned: when the options could be used
  type: bool
unjudged:
  description: Shard paths of which nothing could be judged, as C(shard_path) and C(reason), sorted. With
    O(root) also znodes that may not be read, as there may be tables below them.
  returned: when the options could be used
  type: list
  elements: dict
shard_paths:
  description: How many shard paths were audited.
  returned: when the options could be used
  type: int
  sample: 1
summary:
  description: What was found, in lines for people; first what readers may see twice.
  returned: when the options could be used
  type: list
  elements: str
metrics:
  description: The same in figures, in the text format of Prometheus; empty when the audit did not come to its
    end.
  returned: when the options could be used
  type: str
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
            "clickhouse": argspec.clickhouse(required=True),
            "coordination_root": argspec.COORDINATION_ROOT,
            **argspec.TWIN,
            "shard_paths": {"type": "list", "elements": "str"},
            "root": {"type": "str"},
            "details": {"type": "str", "choices": ["findings", "all"], "default": "findings"},
            **argspec.LOAD,
        },
        mutually_exclusive=[("shard_paths", "root")],
        required_one_of=[("shard_paths", "root")],
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_audit_info import TwinAuditInfo

    return TwinAuditInfo(params)


if __name__ == "__main__":
    main()
