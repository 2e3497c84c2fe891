#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: replica_ledger_info
short_description: Report which shard paths are ready for cold partitions, and which have cold partitions
version_added: 1.0.0
description:
  - Reads the ledger of ready replicas, and reports for each shard path whether M(olap.partmove.part_move)
    would accept its servers, with the reason if not.
  - Also reports partitions that are registered in cold only. While such a partition exists, no replica of its
    shard path may run on a server without the patch.
  - Writes nothing and queries no ClickHouse server.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles
  - olap.partmove.attributes
  - olap.partmove.attributes.read_only
  - olap.partmove.attributes.action_group
options:
  shard_paths:
    description:
      - ZooKeeper paths of the tables, C(zookeeper_path) in C(system.replicas).
      - Exactly one of O(shard_paths) and O(root) is needed.
    type: list
    elements: str
  root:
    description: Read all tables at and below this path; V(/) for all tables. If hot has no table there, the
      module fails.
    type: str
  host:
    description: Read only shard paths with a replica that this server activated last, according to the znode
      C(host) of the replica in O(hot).
    type: str
  interserver_port:
    description: Port of O(host) in its znodes, if several servers run on the host.
    type: int
seealso:
  - module: olap.partmove.replica_ledger
  - module: olap.partmove.part_move
"""

EXAMPLES = r"""
- name: Read which tables are ready
  olap.partmove.replica_ledger_info:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    cold:
      hosts: [cold1:2181, cold2:2181, cold3:2181]
    root: /clickhouse/tables
  register: ledger

- name: Show why other tables are not ready
  ansible.builtin.debug:
    msg: "{{ item.shard_path }}: {{ item.reason }}"
  loop: "{{ ledger.shards | rejectattr('ready') }}"

- name: Fail if a server must not be downgraded
  olap.partmove.replica_ledger_info:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    cold:
      hosts: [cold1:2181, cold2:2181, cold3:2181]
    root: /clickhouse/tables
    host: ch1.example
  register: guard
  failed_when: guard is failed or not guard.downgrade_allowed
"""

RETURN = r"""
msg:
  description: The counts in a sentence, or the error and its remedy.
  returned: always
  type: str
  sample: 11 of 12 shard paths ready, 340 partitions cold
ready:
  description: Whether all shard paths are ready.
  returned: when the options are valid
  type: bool
downgrade_allowed:
  description: Whether no partition of the shard paths is registered in cold only. Before a downgrade,
    withdraw the replicas with M(olap.partmove.replica_ledger), because a move may start after this read.
  returned: when the options are valid
  type: bool
shards:
  description: The shard paths, sorted; with O(root) first by the depth of the path.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the table.
      type: str
    table:
      description: Database and table as a server names them; empty if hot does not have the names.
      type: str
    ready:
      description: Whether every replica is in the ledger, alive and unchanged since the entry.
      type: bool
    reason:
      description: Reason why the shard path is not ready; otherwise empty.
      type: str
    cold_partitions:
      description: Ids of the partitions that are registered in cold only, sorted.
      type: list
      elements: str
    replicas:
      description: The replicas of the table, followed by entries of the ledger without a replica.
      type: list
      elements: dict
      contains:
        replica:
          description: Name of the replica.
          type: str
        host:
          description: The server that activated the replica last; empty for a replica that was never
            activated.
          type: str
        ready:
          description: Whether the entry of the replica holds.
          type: bool
        reason:
          description: Reason why the entry does not hold; otherwise empty.
          type: str
        entry:
          description: The verified facts; null without a readable entry.
          type: dict
          contains:
            host:
              description: The verified server.
              type: str
            interserver_port:
              description: Its port for other servers; null if its version does not report the port.
              type: int
            host_version:
              description: Data version of the znode C(host) at that time.
              type: int
            host_mzxid:
              description: Transaction that last wrote the znode C(host).
              type: int
            server_version:
              description: Version of the server.
              type: str
            patched_sign:
              description: The query that the server answered with 1.
              type: str
            started_at:
              description: Start time of its process, to about a second.
              type: str
            cold:
              description: The cold ensemble at the time of the entry, as C(hosts) and C(chroot).
              type: dict
            verified_by:
              description: Module and host that made the entry.
              type: str
            verified_at:
              description: Time of the entry.
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
            "shard_paths": {"type": "list", "elements": "str"},
            "root": {"type": "str"},
            "host": {"type": "str"},
            "interserver_port": {"type": "int"},
        },
        mutually_exclusive=[("shard_paths", "root")],
        required_one_of=[("shard_paths", "root")],
        required_by={"interserver_port": ["host"]},
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.replica_ledger_info import (
        ReplicaLedgerInfo,
    )

    return ReplicaLedgerInfo(params)


if __name__ == "__main__":
    main()
