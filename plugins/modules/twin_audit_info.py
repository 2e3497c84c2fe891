#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: twin_audit_info
short_description: Report where tables, their cold twins and the records of moves contradict each other
version_added: 1.0.0
description:
  - Compares for every partition the parts of a table and its cold twin on every replica, and the record of
    M(olap.partmove.twin_move) for a partition between both tables. Assigns each partition exactly one kind,
    and returns inconsistent kinds with the remedy.
  - The remedy of most findings is another run of M(olap.partmove.twin_move). If manual action is needed,
    RV(findings[].statements) has the SQL.
  - Writes nothing, and executes no statement with an effect. The module succeeds with any findings, and fails
    if the ensemble does not answer. If a server does not answer, the table is V(not_judged), and RV(complete)
    is false.
  - Reports an inconsistency only if two reads show the same, because servers and runs continue during the
    audit. While a run holds the lock of a table, partitions in the middle of a move are V(not_judged).
notes:
  - C(docs/twin/audit.md) lists the kinds.
  - Inserts into a twin are detected only on servers with C(zookeeperName) in C(system.zookeeper), and only as
    long as these servers remember the insert.
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
    description: How to query the ClickHouse servers of the replicas. The user has to be allowed to read the
      database C(system).
    required: true
  shard_paths:
    description:
      - ZooKeeper paths of the hot tables, C(zookeeper_path) in C(system.replicas).
      - Exactly one of O(shard_paths) and O(root) is needed.
    type: list
    elements: str
  root:
    description: Audit all tables at and below this path; V(/) for all tables. Tables without a twin are
      V(without_twin). Records of dropped tables are reported as well.
    type: str
  details:
    description: Whether to return only findings, or consistent partitions, too.
    type: str
    choices: [findings, all]
    default: findings
seealso:
  - module: olap.partmove.twin_move
  - module: olap.partmove.twin_table
  - module: olap.partmove.part_audit_info
"""

EXAMPLES = r"""
- name: Check whether a table and its twin are consistent
  olap.partmove.twin_audit_info:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    clickhouse:
      user: monitor
      password: "{{ monitor_password }}"
    shard_paths:
      - /clickhouse/tables/01/hits
  register: audit

- name: Show the findings, the worst first
  ansible.builtin.debug:
    var: audit.summary

- name: Show the statements for manual repairs
  ansible.builtin.debug:
    msg: "{{ audit.findings | selectattr('statements') | map(attribute='statements') }}"
"""

RETURN = r"""
findings:
  description: Findings, with O(details=all) also consistent partitions; sorted by kind with the worst first,
    then by shard path, partition and replica.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the hot table.
      type: str
    partition:
      description: Id of the partition; empty for a finding about the tables.
      type: str
    replica:
      description: Name of the replica; empty for a finding about all replicas.
      type: str
    kind:
      description: Kind of the finding, a key of RV(kinds).
      type: str
    means:
      description: Meaning of the kind, as a sentence without full stop.
      type: str
    parts:
      description: Names of the parts with the finding, sorted.
      type: list
      elements: str
    reason:
      description: Observation of the audit, or reason why the partition was not judged; empty if the kind is
        enough.
      type: str
    remedy:
      description: Next step; empty for consistent partitions.
      type: str
    statements:
      description: Statements for a manual repair, in this order. The remedy says under which condition to run
        the statements.
      type: list
      elements: str
    record:
      description: Path of the znode in hot with the record of the partition; empty without a record.
      type: str
    began:
      description: When the move of the record began; empty without a record.
      type: str
    can_wait:
      description: Whether the finding is harmless so far, as M(olap.partmove.part_audit_info) returns it;
        never for twins.
      type: bool
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
      remedy: "If these are the same rows, run the statements of the finding: they drop …"
      statements: ["ALTER TABLE db.hits DROP PART '20191201_0_5_2'"]
      record: ""
      began: ""
      can_wait: false
      seen_twice: true
kinds:
  description: Number of partitions and tables by kind, with a key for every kind.
  returned: when the options are valid
  type: dict
  sample: {equal: 1, cold: 334, hot: 30}
seen_twice:
  description: Partitions whose rows readers of both tables see twice, or may see twice, as C(shard_path) and
    C(partition), the worst first.
  returned: when the options are valid
  type: list
  elements: dict
missing:
  description: Partitions and tables of which the twin lacks rows that the ledger lists, or is another table,
    as C(shard_path) and C(partition), the worst first.
  returned: when the options are valid
  type: list
  elements: dict
blocked:
  description: Shard paths of which no partition can move, because the definitions of the table and its twin,
    or of two replicas, differ. The gate C(twin_alike) defers all their partitions.
  returned: when the options are valid
  type: list
  elements: str
holds:
  description: Holds of M(olap.partmove.twin_hold), sorted by shard path. While a hold lasts, no run works on
    the shard path.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the hot table.
      type: str
    owner:
      description: Owner of the hold.
      type: str
    reason:
      description: Reason for the hold.
      type: str
    until:
      description: End of the hold.
      type: str
    is_over:
      description: Whether the end has passed by the clock of the host of the audit. The next run over the
        shard path deletes such a hold.
      type: bool
unfinished_alters:
  description: Statements of M(olap.partmove.twin_alter) that are not finished, sorted by shard path. Until
    they are, no run works on the shard path.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the hot table.
      type: str
    record:
      description: Path of the znode with the statement.
      type: str
    began:
      description: When the statement began.
      type: str
    in_progress:
      description: Whether a run holds the lock of the shard path, and may finish the statement.
      type: bool
drifted:
  description: Whether there is an inconsistency.
  returned: when the options are valid
  type: bool
complete:
  description: Whether the audit has judged everything, has found a table, and one of the tables has a twin or
    a record.
  returned: when the options are valid
  type: bool
unjudged:
  description: Shard paths that were not judged at all, as C(shard_path) and C(reason), sorted. With O(root)
    also znodes that may not be read, because tables may be below, and the root itself if hot has no table
    there.
  returned: when the options are valid
  type: list
  elements: dict
shard_paths:
  description: Number of audited shard paths.
  returned: when the options are valid
  type: int
  sample: 1
summary:
  description: Findings in lines for people. The first lines name partitions that readers may see twice.
  returned: when the options are valid
  type: list
  elements: str
metrics:
  description: Findings as metrics in the text format of Prometheus; empty if the audit did not finish.
  returned: when the options are valid
  type: str
servers:
  description: The queried servers, sorted by name. Servers before ClickHouse 21.1 are refused, because their
    tables cannot be in an auxiliary ensemble.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    server:
      description: The server.
      type: str
    version:
      description: Its version.
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
