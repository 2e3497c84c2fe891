#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: part_audit_info
short_description: Tell where registration, State and disks contradict each other
version_added: 0.1.0
description:
  - Compares, of every partition of every replica, what both ensembles register, what State says, and what the
    server has on disk. Each is of exactly one kind, and the kinds that are not sound come with the way out.
  - What a restart of a server would set aside comes first, in RV(restart_unsafe) and RV(summary).
  - Nothing is written. The module succeeds whatever it finds, and fails when an ensemble does not answer. A
    server that does not answer makes the partitions of its replica V(not_judged), and RV(complete) false. So
    does a znode that may not be read, which is listed in RV(unjudged).
  - Drift is reported only where two looks see it, as servers go on inserting, merging and dropping meanwhile.
notes:
  - The kinds are listed in C(docs/operate/audit.md). The playbook C(olap.partmove.audit) runs this module for people
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
      - ZooKeeper paths of the tables to audit, as C(system.replicas) has them in C(zookeeper_path). A path
        that hot does not have any more is audited for what cold has there.
      - Exactly one of O(shard_paths) and O(root) is needed.
    type: list
    elements: str
  root:
    description: Path that all tables at and below it are to be audited, V(/) for all there are. Those that
      only the cold ensemble has are audited as well.
    type: str
  details:
    description: Whether to return what is sound besides what is not.
    type: str
    choices: [findings, all]
    default: findings
  compare_content:
    description:
      - Whether to compare the content of all registrations, those of hot with those of cold, and both with
        the hashes that servers from 20.x on tell.
      - Without it the content is compared where names or State are not as they should be.
    type: bool
    default: false
seealso:
  - module: olap.partmove.part_info
  - module: olap.partmove.replica_info
  - module: olap.partmove.part_repair
"""

EXAMPLES = r"""
- name: See whether a table is as it should be
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

- name: Show what was found, the worst first
  ansible.builtin.debug:
    var: audit.summary

- name: Stop before servers are restarted that would set parts aside
  ansible.builtin.assert:
    that: audit.complete and not audit.restart_unsafe
    fail_msg: "{{ audit.summary[0] }}"

- name: Audit every table, and what cold has of tables that are gone, by content as well
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
  description: The partitions of replicas that are not sound, with O(details=all) also those that are; the
    worst kind first, then by shard path, partition and replica.
  returned: when the options could be used
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the table.
      type: str
    partition:
      description: Id of the partition; empty for znodes among the parts that have no name of a part.
      type: str
    replica:
      description: Name of the replica.
      type: str
    kind:
      description: What it is, a key of RV(kinds).
      type: str
    means:
      description: The same as a sentence without its full stop.
      type: str
    parts:
      description: Names of the parts that it is so for, sorted. With V(unreadable) the paths of the znodes.
      type: list
      elements: str
    reason:
      description: Why it was not judged; otherwise empty.
      type: str
    remedy:
      description: What to do about it; empty for what is sound.
      type: str
    restart_unsafe:
      description: Whether a restart of the replica's server would set parts aside, or leave it without the
        table.
      type: bool
  sample:
    - shard_path: /clickhouse/tables/01/hits
      partition: "20191201"
      replica: r1
      kind: unregistered
      means: parts are active on disk and registered in neither ensemble, so the next restart sets them aside
      parts: [20191201_0_5_2]
      reason: ""
      remedy: Do not restart the server. part_repair with this kind and a file that has the registrations
      restart_unsafe: true
kinds:
  description: How many partitions of replicas are of each kind, with a key for every kind there is.
  returned: when the options could be used
  type: dict
  sample: {unregistered: 1, cold: 334, hot: 30}
restart_unsafe:
  description: Replicas whose servers must not be restarted before something is done, as C(shard_path) and
    C(replica), sorted.
  returned: when the options could be used
  type: list
  elements: dict
  sample: [{shard_path: /clickhouse/tables/01/hits, replica: r1}]
drifted:
  description: Whether a partition of a replica is not as it should be.
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
  description: What was found, in lines for people; first the servers that must not be restarted.
  returned: when the options could be used
  type: list
  elements: str
  sample:
    - "DO NOT RESTART r1 (/clickhouse/tables/01/hits): unregistered in partition 20191201"
metrics:
  description: The same in figures, in the text format of Prometheus, such as for the textfile collector of
    node_exporter; empty when the audit did not come to its end.
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
            "cold": argspec.ensemble(),
            "coordination_root": argspec.COORDINATION_ROOT,
            "clickhouse": argspec.clickhouse(required=True),
            "shard_paths": {"type": "list", "elements": "str"},
            "root": {"type": "str"},
            "details": {"type": "str", "choices": ["findings", "all"], "default": "findings"},
            "compare_content": {"type": "bool", "default": False},
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
