#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: replica_ledger
short_description: Enter the replicas of a ClickHouse server in the ledger, or withdraw them
version_added: 0.1.0
description:
  - The ledger says, in the hot ensemble, which replicas run a server that knows the cold ensemble. A
    partition is moved only if every replica of its shard path is in the ledger and was not activated since.
  - V(present) asks the server for its replicas and for the sign of the patch, compares what it sees in
    ZooKeeper with what O(hot) has, and enters all of its replicas, or none.
  - A replica for which O(cold) has parts that are neither in O(hot) nor active on its disk is not entered. It
    was added under the name of a former one, or has lost them.
  - V(absent) withdraws replicas before their server is replaced by one without the patch, or loses its
    C(<cold_zookeeper>). It is the guard of a downgrade, and refused while a partition of one of the
    shard paths is registered in cold only. Nothing overrides that.
notes:
  - An entry holds for one activation. After each restart of a server, and after each new session that it gets
    with ZooKeeper, its replicas have to be entered again.
  - What cannot be seen by SQL is for the caller to verify first. Such are the C(<cold_zookeeper>) in the
    configuration that the server uses, and that it can reach the members.
  - With V(absent) the module looks for cold partitions, withdraws the entries, and looks again. A move that
    runs meanwhile fails, or the second look sees what it did. Then the module fails and the entries stay
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
      - The ensemble that the server has as C(<cold_zookeeper>), with its C(<root>) as O(cold.chroot).
      - Its members are written down in the entries. M(olap.partmove.part_move) refuses replicas that were
        entered with other ones than it is given itself, whatever their order.
  state:
    description: Whether the replicas are to be in the ledger.
    type: str
    choices: [present, absent]
    default: present
  clickhouse:
    description:
      - How to ask the server over its HTTP interface.
      - With O(state=absent) it is asked only if neither O(replicas) nor O(host) is given.
  patched_sign:
    description:
      - A query, without C(FORMAT), that gives 1 on a server with the patch. A server that refuses it
        does not have the patch.
      - Needed for O(state=present).
    type: str
  config_changed_at:
    description:
      - When the configuration of the server was changed last, in seconds since 1970 by its own clock, such as
        C(stat.mtime) of M(ansible.builtin.stat).
      - A server that was started before is not entered.
    type: float
  renew:
    description:
      - With O(state=present), whether to enter only replicas that are in the ledger already, be it with an
        entry that does not hold any more. Those that were withdrawn, or never entered, stay out.
      - This is for what runs on a schedule, so that it does not enter a server again that a person withdrew
        before its downgrade.
    type: bool
    default: false
  replicas:
    description:
      - The replicas to enter or to withdraw.
      - With O(state=present) they have to be replicas of the server, and its others are left alone.
      - With O(state=absent) no server is asked.
    type: list
    elements: dict
    suboptions:
      shard_path:
        description: ZooKeeper path of the table, as C(system.replicas) has it in C(zookeeper_path).
        type: str
        required: true
      replica:
        description: Name of the replica, as C(system.replicas) has it in C(replica_name).
        type: str
        required: true
  host:
    description:
      - With O(state=absent), withdraw the replicas that this server activated last, as O(hot) has it in the
        znode C(host) of each replica. The server is not asked, and need not run.
      - Also finds the replicas of tables that are detached, of which a server that is asked does not tell.
    type: str
  interserver_port:
    description: Port of O(host) as its znodes have it, where several servers run on it.
    type: int
  never_entered:
    description:
      - With O(state=absent), whether to take for granted that none of the replicas was ever entered anywhere.
      - Without it the module fails where O(coordination_root) has no ledger of any of their tables, since
        withdrawing from a ledger that moves do not look into would keep nothing from becoming cold.
    type: bool
    default: false
  root:
    description: Path below which replicas of O(host) are looked for.
    type: str
    default: /
seealso:
  - module: olap.partmove.replica_ledger_info
  - module: olap.partmove.part_move
"""

EXAMPLES = r"""
- name: Enter the replicas of a server that was verified
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

- name: Withdraw a server before it is downgraded, whether or not it runs
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
  description: The counts in a sentence, or what is wrong and the way out.
  returned: always
  type: str
  sample: 12 of 12 replicas entered
replicas:
  description: What was done, or would be in check mode, sorted by shard path and replica.
  returned: when the options could be used
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
      description: Database and table as the server of the replica calls them; empty where hot does not tell.
      type: str
    before:
      description: V(absent), V(ready), or V(stale) for an entry that did not hold any more.
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
  description: The partitions that are in the way of O(state=absent).
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
