#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: partition_merge
short_description: Merge partitions of several parts, at the pace of their servers
version_added: 0.1.0
description:
  - Merges partitions into one part each, so that they can be moved, with
    C(OPTIMIZE TABLE … PARTITION ID '…' FINAL). Of the tables that share their servers one partition is
    merged at a time.
  - A partition is merged when each replica has the same one part of it. Only then the next one is begun.
  - Only what is registered in hot only is merged. An C(OPTIMIZE) of a cold part would take its rows out of
    the table. So the statement is given under the lock of the shard path, which keeps moves from coming in
    between.
  - While a server is too busy no merge is begun. When that lasts, the module ends what was begun, and fails
    with the reason. A run that was stopped can be started again; what is merged is passed by.
options:
  src:
    description:
      - Path of the C(merges.sql) of a report, on the host that this runs on. Its lines are taken in their
        order.
      - Exactly one of O(src) and O(partitions) is needed.
    type: path
  partitions:
    description: The partitions to merge, in order.
    type: list
    elements: dict
    suboptions:
      shard_path:
        description: ZooKeeper path of the table, as C(system.replicas) has it in C(zookeeper_path).
        type: str
        required: true
      partition:
        description: Id of the partition.
        type: str
        required: true
  clickhouse:
    description: How to ask the ClickHouse servers of the replicas. The user has to be allowed to C(OPTIMIZE).
    required: true
  max_queue:
    description: No merge is begun while a replica has more entries than that in its replication queue for
      the table.
    type: int
    default: 20
  max_merges:
    description: No merge is begun while a server runs more merges than that, of whatever table.
    type: int
    default: 8
  limit:
    description: Begin no more than so many merges, V(0) for any number.
    type: int
    default: 0
  patience:
    description: How long servers may be too busy, without a break, until the module stops. Merges leave them
      something to do, such as to fetch the part.
    type: str
    default: 10m
  timeout:
    description: How long one partition may take until it is merged on every replica, as seconds or with a
      unit.
    type: str
    default: 6h
  poll:
    description: Time between two looks at what is being merged.
    type: str
    default: 5s
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles
  - olap.partmove.ensembles.lock
  - olap.partmove.clickhouse_server.replicas
  - olap.partmove.attributes
  - olap.partmove.attributes.action_group
attributes:
  check_mode:
    support: full
    details: Returns what would be merged, whatever the load of the servers is.
  diff_mode:
    support: none
  idempotent:
    support: full
notes:
  - Nothing keeps a move with C(max_parts) above 1 from partitions that are being merged.
  - What is merged has changed, and C(cold_after) and C(min_age) count anew.
seealso:
  - module: olap.partmove.part_move
"""

EXAMPLES = r"""
- name: Merge what a report suggests, at most 100 partitions today
  olap.partmove.partition_merge:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    cold:
      hosts: [cold1:2181, cold2:2181, cold3:2181]
    clickhouse:
      user: admin
      password: "{{ admin_password }}"
    src: /var/lib/partmove/report/merges.sql
    limit: 100

- name: Merge one partition, and give way to others early
  olap.partmove.partition_merge:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    cold:
      hosts: [cold1:2181, cold2:2181, cold3:2181]
    clickhouse: {}
    partitions:
      - shard_path: /clickhouse/tables/01/hits
        partition: "20191201"
    max_queue: 2
    max_merges: 1
"""

RETURN = r"""
merged:
  description: What was merged, or in check mode would be, in order, as C(shard_path) and C(partition).
  returned: when the options could be used
  type: list
  elements: dict
  sample:
    - shard_path: /clickhouse/tables/01/hits
      partition: "20191201"
merged_already:
  description: How many partitions were merged before.
  returned: when the options could be used
  type: int
passed_by:
  description: What is not merged for good, as C(shard_path), C(partition) and C(reason).
  returned: when the options could be used
  type: list
  elements: dict
left:
  description: How many partitions are left, for another run.
  returned: when the options could be used
  type: int
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
            "clickhouse": argspec.clickhouse(required=True),
            "src": {"type": "path"},
            "partitions": argspec.PARTITIONS,
            "max_queue": {"type": "int", "default": 20},
            "max_merges": {"type": "int", "default": 8},
            "limit": {"type": "int", "default": 0},
            "patience": {"type": "str", "default": "10m"},
            "timeout": {"type": "str", "default": "6h"},
            "poll": {"type": "str", "default": "5s"},
            "coordination_root": argspec.COORDINATION_ROOT,
            "lock_wait": argspec.LOCK_WAIT,
        },
        mutually_exclusive=[("src", "partitions")],
        required_one_of=[("src", "partitions")],
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.partition_merge import PartitionMerge

    return PartitionMerge(params)


if __name__ == "__main__":
    main()
