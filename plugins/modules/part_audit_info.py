#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: part_audit_info
short_description: Report where part znodes, State and disks contradict each other
version_added: 1.0.0
description:
  - Compares for every partition of every replica the registration in both ensembles, the State marker, and
    the parts on the disk of the server. Assigns each partition exactly one kind, and returns inconsistent
    kinds with the remedy.
  - RV(restart_unsafe) and RV(summary) list parts first that a restart of a server would move to C(detached/).
  - Writes nothing. The module succeeds with any findings, and fails if an ensemble does not answer. If a
    server does not answer, the partitions of its replica are V(not_judged), and RV(complete) is false.
    RV(complete) is also false if a znode may not be read, or if no table was found in hot, for example
    because the root or the chroot is wrong; RV(unjudged) lists the path.
  - Reports an inconsistency only if two reads show the same, because servers insert, merge and drop during
    the audit.
notes:
  - C(docs/operate/audit.md) lists the kinds. The playbook C(olap.partmove.audit) runs this module for people
    and for monitoring.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles
  - olap.partmove.clickhouse_server.replicas
  - olap.partmove.load
  - olap.partmove.load.progress
  - olap.partmove.attributes
  - olap.partmove.attributes.read_only
  - olap.partmove.attributes.action_group
options:
  clickhouse:
    required: true
  shard_paths:
    description:
      - ZooKeeper paths of the tables, C(zookeeper_path) in C(system.replicas). A path without a table in hot
        is audited for parts in cold.
      - Exactly one of O(shard_paths) and O(root) is needed.
    type: list
    elements: str
  root:
    description: Audit all tables at and below this path; V(/) for all tables. Tables that exist only in the
      cold ensemble are audited as well.
    type: str
  details:
    description: Whether to return only findings, or consistent partitions, too.
    type: str
    choices: [findings, all]
    default: findings
  compare_content:
    description:
      - Whether to compare the content of all part znodes in hot and cold. Hashes from servers of version 20.x
        and later are compared as well.
      - Without this option the content is compared only if names or State are inconsistent.
    type: bool
    default: false
  skip_missing:
    description:
      - Whether to leave out the paths of O(shard_paths) of which neither ensemble has anything, for example
        after the repair of a dropped table. Otherwise the module fails.
    type: bool
    default: false
seealso:
  - module: olap.partmove.part_info
  - module: olap.partmove.replica_info
  - module: olap.partmove.part_repair
"""

EXAMPLES = r"""
- name: Check whether a table is consistent
  olap.partmove.part_audit_info:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    cold:
      hosts: [cold1:2181, cold2:2181, cold3:2181]
    clickhouse:
      user: monitor
      password: "{{ monitor_password }}"
    shard_paths:
      - /clickhouse/tables/01/hits
  register: audit

- name: Show the findings, the worst first
  ansible.builtin.debug:
    var: audit.summary

- name: Stop before restarts that would move parts to detached/
  ansible.builtin.assert:
    that: audit.complete and not audit.restart_unsafe
    fail_msg: "{{ audit.summary[0] }}"

- name: Audit every table, also dropped tables with parts in cold, and compare the content
  olap.partmove.part_audit_info:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    cold:
      hosts: [cold1:2181, cold2:2181, cold3:2181]
    clickhouse:
      user: monitor
      password: "{{ monitor_password }}"
    root: /
    compare_content: true
"""

RETURN = r"""
findings:
  description: Partitions of replicas with findings, with O(details=all) also consistent partitions; sorted by
    kind with the worst first, then by shard path, partition and replica.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the table.
      type: str
    partition:
      description: Id of the partition; empty for znodes among the parts whose names are not part names.
      type: str
    replica:
      description: Name of the replica.
      type: str
    kind:
      description: Kind of the finding, a key of RV(kinds).
      type: str
    means:
      description: Meaning of the kind, as a sentence without full stop.
      type: str
    parts:
      description: Names of the parts with the finding, sorted. With V(unreadable) the paths of the znodes.
      type: list
      elements: str
    reason:
      description: Reason why the partition was not judged; otherwise empty.
      type: str
    remedy:
      description: Next step; empty for consistent partitions.
      type: str
    can_wait:
      description: Whether the inconsistency is harmless so far, because later runs are expected to end it, as
        V(copies_left) for two days. Such a finding counts neither in RV(drifted) nor in the metric of drift.
      type: bool
    restart_unsafe:
      description: Whether a restart of the replica's server would move parts to C(detached/), or leave the
        server without the table.
      type: bool
    statements:
      description: SQL of the remedy, with the names of the server, database, table and partition; empty if
        the remedy has none. Each statement begins with a comment that says where, and when, to run it. A
        statement that changes data is listed only where all servers answer, and for one replica alone.
      type: list
      elements: str
  sample:
    - shard_path: /clickhouse/tables/01/hits
      partition: "20191201"
      replica: r1
      kind: unregistered
      means: parts are active on disk and registered in neither ensemble, so the next restart sets them aside
      parts: [20191201_0_5_2]
      reason: ""
      remedy: Do not restart the server. Run part_repair with this kind and a file with the registrations
      can_wait: false
      restart_unsafe: true
      statements:
        - "/* r1, ClickHouse at ch1:8123, on this server alone */ ALTER TABLE db.hits DETACH PARTITION ID '1'"
kinds:
  description: Number of partitions of replicas by kind, with a key for every kind.
  returned: when the options are valid
  type: dict
  sample: {unregistered: 1, cold: 334, hot: 30}
repair_order:
  description: Kinds that were found and need an action, in the order in which the repairs work. RV(findings)
    has another order; for example, C(foreign) keeps worse kinds from being repaired.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    kind:
      description: Kind of the findings.
      type: str
    repaired:
      description: Whether M(olap.partmove.part_repair) repairs the kind; otherwise manual action is needed.
      type: bool
    shard_paths:
      description: Shard paths with the kind, sorted.
      type: list
      elements: str
    partitions:
      description: Number of partitions with the kind.
      type: int
    parts:
      description: Number of parts of replicas with the kind; with V(unreadable) the number of znodes.
      type: int
    seconds:
      description: Estimated time of the repair, without waits for locks and load. A repair reads each shard
        path three times, so this is three times the time that the audit took for these shard paths.
      type: float
    written:
      description: The most znodes that the repair writes, without locks, epochs and identities.
      type: int
    deleted:
      description: The most znodes that the repair deletes.
      type: int
    newest_write:
      description: When State or the parts in cold were written last; V(foreign) waits for C(quiet) after it.
        Empty if unknown.
      type: str
    copies_stay:
      description: Seconds for which copies in cold stay after the repair.
      type: int
  sample:
    - kind: dropped
      repaired: true
      shard_paths: [/clickhouse/tables/01/hits]
      partitions: 1
      parts: 2
      seconds: 2.4
      written: 0
      deleted: 2
      newest_write: "2026-11-22T06:45:00.000Z"
      copies_stay: 0
waiting_copies:
  description: Copies of partitions that were brought back, which have to stay for now.
  returned: when the options are valid
  type: dict
  contains:
    partitions:
      description: Number of partitions with such copies.
      type: int
    seconds:
      description: Seconds until the last of them may be removed; null while a replica is inactive, or without
        copies.
      type: int
  sample: {partitions: 1, seconds: 540}
restart_unsafe:
  description: Replicas whose servers must not be restarted before a repair, as C(shard_path), C(replica) and
    C(host), sorted. C(host) is the registered name of the server's host; empty if unknown.
  returned: when the options are valid
  type: list
  elements: dict
  sample: [{shard_path: /clickhouse/tables/01/hits, replica: r1, host: ch-1-1}]
written_by_another:
  description: Partitions that another tool wrote after the last run of this collection, as C(shard_path) and
    C(partition), sorted. Of cold, only parts with a finding are looked at, or all with O(compare_content).
  returned: when the options are valid
  type: list
  elements: dict
  sample: [{shard_path: /clickhouse/tables/01/hits, partition: "20191201"}]
detached:
  description: Part folders in C(detached/) of the servers, as C(shard_path), C(partition), C(replica),
    C(folder) and C(needed), sorted. C(needed) is V(yes) for the only data of a partition, or a part that the
    replica lacks; V(no) if the replica has an active part of that name; V(compare) if parts of other names
    may have the rows. Servers without C(system.detached_parts) do not list their folders.
  returned: when the options are valid
  type: list
  elements: dict
  sample:
    - shard_path: /clickhouse/tables/01/hits
      partition: "20191201"
      replica: r2
      folder: 20191201_0_0_0
      needed: compare
drifted:
  description: Whether a partition of a replica is inconsistent. Findings that can wait do not count.
  returned: when the options are valid
  type: bool
complete:
  description: Whether the audit has judged everything, and has found a table.
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
  description: Findings in lines for people. The first lines name servers that must not be restarted.
  returned: when the options are valid
  type: list
  elements: str
  sample:
    - "DO NOT RESTART r1 on ch-1-1 (/clickhouse/tables/01/hits): unregistered in partition 20191201"
metrics:
  description: Findings as metrics in the text format of Prometheus, for example for the textfile collector of
    node_exporter; empty if the audit did not finish.
  returned: when the options are valid
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
            "cold": argspec.ensemble(),
            "coordination_root": argspec.COORDINATION_ROOT,
            "clickhouse": argspec.clickhouse(required=True),
            "shard_paths": {"type": "list", "elements": "str"},
            "root": {"type": "str"},
            "details": {"type": "str", "choices": ["findings", "all"], "default": "findings"},
            "compare_content": {"type": "bool", "default": False},
            "skip_missing": {"type": "bool", "default": False},
            **argspec.LOAD,
        },
        mutually_exclusive=[("shard_paths", "root")],
        required_one_of=[("shard_paths", "root")],
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.part_audit_info import (
        PartAuditInfo,
    )

    return PartAuditInfo(params)


if __name__ == "__main__":
    main()
