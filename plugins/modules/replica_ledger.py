#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: replica_ledger
short_description: Enter the replicas of a ClickHouse server in the ledger, or withdraw them
version_added: 1.0.0
description:
  - The ledger in the hot ensemble lists the replicas whose servers know the cold ensemble. A partition is
    moved only if every replica of its shard path is in the ledger and was not activated since.
  - V(present) reads the replicas and the sign of the patch from the server, and compares the znodes that the
    server reads with O(hot). Then it enters all replicas of the server, or none.
  - A replica is not entered if O(cold) has parts for the replica that are neither in O(hot) nor active on its
    disk. Such a replica was added under the name of a former replica, or has lost the parts.
  - "V(absent) withdraws replicas before their server is replaced by a server without the patch, or loses its
    C(<cold_zookeeper>). This guards a downgrade: the withdrawal is refused while a partition of one of the
    shard paths is registered in cold only. No option overrides the refusal."
notes:
  - An entry holds for one activation. After each restart of a server and each new session with ZooKeeper, the
    replicas of the server have to be entered again.
  - "Verify conditions first that SQL does not show: the C(<cold_zookeeper>) in the configuration of the
    running server, and a connection from the server to the members."
  - With V(absent) the module searches for cold partitions before and after the withdrawal. A simultaneous
    move fails, or the second search finds its cold partition. Then the module fails and the entries stay
    withdrawn.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles
  - olap.partmove.clickhouse_server
  - olap.partmove.attributes
  - olap.partmove.attributes.action_group
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  cold:
    description:
      - The ensemble in C(<cold_zookeeper>) of the server, with its C(<root>) as O(cold.chroot).
      - The entries contain the members of this ensemble. M(olap.partmove.part_move) with other members
        refuses these replicas. The order of the members does not matter.
  state:
    description: Whether the replicas are to be in the ledger.
    type: str
    choices: [present, absent]
    default: present
  clickhouse:
    description:
      - How to query the server over its HTTP interface.
      - With O(state=absent) the server is queried only if neither O(replicas) nor O(host) is given.
  patched_sign:
    description:
      - A query without C(FORMAT) that returns 1 on a server with the patch. A server that refuses the query
        does not have the patch.
      - Needed for O(state=present).
    type: str
  config_changed_at:
    description:
      - Time of the last change of the server configuration, in seconds since 1970 by the clock of the server,
        such as C(stat.mtime) of M(ansible.builtin.stat).
      - A server with an earlier start is not entered.
    type: float
  renew:
    description:
      - With O(state=present), whether to enter only replicas that have an entry already, valid or not.
        Replicas that were withdrawn or never entered stay out.
      - For scheduled runs, which must not enter a server again that was withdrawn manually before its
        downgrade.
    type: bool
    default: false
  replicas:
    description:
      - The replicas to enter or to withdraw.
      - With O(state=present) these have to be replicas of the server. Its other replicas stay as before.
      - With O(state=absent) no server is queried.
    type: list
    elements: dict
    suboptions:
      shard_path:
        description: ZooKeeper path of the table, C(zookeeper_path) in C(system.replicas).
        type: str
        required: true
      replica:
        description: Name of the replica, C(replica_name) in C(system.replicas).
        type: str
        required: true
  host:
    description:
      - With O(state=absent), withdraw the replicas that this server activated last, according to the znode
        C(host) of each replica in O(hot). The server is not queried, and need not run.
      - Also finds replicas of detached tables, which a queried server does not report.
    type: str
  interserver_port:
    description: Port of O(host) in its znodes, if several servers run on the host.
    type: int
  never_entered:
    description:
      - With O(state=absent), whether to assume that none of the replicas was ever entered anywhere.
      - Without this option the module fails if O(coordination_root) has no ledger of any of their tables. A
        withdrawal from the wrong ledger would not prevent cold partitions.
    type: bool
    default: false
  root:
    description: Search for replicas of O(host) below this path.
    type: str
    default: /
seealso:
  - module: olap.partmove.replica_ledger_info
  - module: olap.partmove.part_move
"""

EXAMPLES = r"""
- name: Enter the replicas of a verified server
  olap.partmove.replica_ledger:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    cold:
      hosts: [cold1:2181, cold2:2181, cold3:2181]
    clickhouse:
      host: ch1.example
      user: monitor
      password: "{{ monitor_password }}"
    patched_sign: SELECT count() FROM system.build_options WHERE name = 'COLD_ZOOKEEPER'
    config_changed_at: "{{ config.stat.mtime }}"

- name: Withdraw the replicas of a server before its downgrade, even if the server is down
  olap.partmove.replica_ledger:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    cold:
      hosts: [cold1:2181, cold2:2181, cold3:2181]
    state: absent
    host: ch1.example
    root: /clickhouse/tables
"""

RETURN = r"""
msg:
  description: The counts in a sentence, or the error and its remedy.
  returned: always
  type: str
  sample: 12 of 12 replicas entered
replicas:
  description: Changes by shard path and replica, sorted; in check mode, planned changes.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the table.
      type: str
    replica:
      description: Name of the replica.
      type: str
    table:
      description: Database and table as the server of the replica names them; empty if hot does not have the
        names.
      type: str
    before:
      description: V(absent), V(ready), or V(stale) for an entry that no longer holds.
      type: str
    after:
      description: V(absent) or V(ready).
      type: str
  sample:
    - shard_path: /clickhouse/tables/01/hits
      replica: ch1
      table: default.hits
      before: stale
      after: ready
cold_partitions:
  description: The partitions that prevent O(state=absent).
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
    partition:
      description: Id of the partition.
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
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "clickhouse": argspec.clickhouse_server(),
            "patched_sign": {"type": "str"},
            "config_changed_at": {"type": "float"},
            "renew": {"type": "bool", "default": False},
            "replicas": {
                "type": "list",
                "elements": "dict",
                "options": {
                    "shard_path": {"type": "str", "required": True},
                    "replica": {"type": "str", "required": True},
                },
            },
            "host": {"type": "str"},
            "interserver_port": {"type": "int"},
            "never_entered": {"type": "bool", "default": False},
            "root": {"type": "str", "default": "/"},
        },
        mutually_exclusive=[("replicas", "host")],
        required_if=[("state", "present", ["patched_sign"])],
        required_by={"interserver_port": ["host"]},
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.replica_ledger import ReplicaLedger

    return ReplicaLedger(params)


if __name__ == "__main__":
    main()
