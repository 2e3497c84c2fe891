#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: replica_ledger_info
short_description: Tell which shard paths are ready for cold partitions, and which have some
version_added: 0.1.0
description:
  - Reads the ledger of ready replicas and says of each shard path whether M(olap.partmove.part_move) would
    let its partitions pass as far as the servers go, and if not, why.
  - Also says which partitions are registered in cold only. As long as there is one, no replica of its shard
    path may run a server without the patch.
  - Nothing is written, and no ClickHouse server is asked.
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
      - ZooKeeper paths of the tables to look at, as C(system.replicas) has them in C(zookeeper_path).
      - Exactly one of O(shard_paths) and O(root) is needed.
    type: list
    elements: str
  root:
    description: Path that all tables at and below it are to be looked at, V(/) for all there are.
    type: str
  host:
    description: Only look at shard paths with a replica that this server activated last, as O(hot) has it in
      the znode C(host) of the replica.
    type: str
  interserver_port:
    description: Port of O(host) as its znodes have it, where several servers run on it.
    type: int
seealso:
  - module: olap.partmove.replica_ledger
  - module: olap.partmove.part_move
"""

EXAMPLES = r"""
- name: See which tables are ready
  olap.partmove.replica_ledger_info:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    cold:
      hosts: [cold1:2181, cold2:2181, cold3:2181]
    root: /clickhouse/tables
  register: ledger

- name: List those that are not, and why
  ansible.builtin.debug:
    msg: "{{ item.shard_path }}: {{ item.reason }}"
  loop: "{{ ledger.shards | rejectattr('ready') }}"

- name: See whether a server may be downgraded
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
  description: The counts in a sentence, or what is wrong and the way out.
  returned: always
  type: str
  sample: 11 of 12 shard paths ready, 340 partitions cold
ready:
  description: Whether all of the shard paths are ready.
  returned: when the options could be used
  type: bool
downgrade_allowed:
  description: Whether no partition of the shard paths is registered in cold only. Withdraw the replicas
    with M(olap.partmove.replica_ledger) before you rely on it, or a move may come in between.
  returned: when the options could be used
  type: bool
shards:
  description: The shard paths, sorted, with O(root) by the depth of the path first.
  returned: when the options could be used
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the table.
      type: str
    table:
      description: Database and table as a server calls them; empty where hot does not tell.
      type: str
    ready:
      description: Whether every replica is in the ledger, alive and unchanged since.
      type: bool
    reason:
      description: Why not; empty when it is.
      type: str
    cold_partitions:
      description: Ids of the partitions that are registered in cold only, sorted.
      type: list
      elements: str
    replicas:
      description: The replicas of the table, and after them those that only the ledger has.
      type: list
      elements: dict
      contains:
        replica:
          description: Name of the replica.
          type: str
        host:
          description: The server that activated it last; empty where it never was.
          type: str
        ready:
          description: Whether its entry holds.
          type: bool
        reason:
          description: Why not; empty when it does.
          type: str
        entry:
          description: What was verified; none where there is no entry, or one that is not understood.
          type: dict
          contains:
            host:
              description: The server that was verified.
              type: str
            interserver_port:
              description: Its port for other servers; none where its version does not tell.
              type: int
            host_version:
              description: Data version of the znode C(host) at that time.
              type: int
            host_mzxid:
              description: Transaction that had written the znode C(host) last.
              type: int
            server_version:
              description: Version of the server.
              type: str
            patched_sign:
              description: The query that it answered with 1.
              type: str
            started_at:
              description: When its process had started, to about a second.
              type: str
            cold:
              description: The cold ensemble that it was verified with, as C(hosts) and C(chroot).
              type: dict
            verified_by:
              description: The module and the host that it ran on.
              type: str
            verified_at:
              description: When that was.
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
