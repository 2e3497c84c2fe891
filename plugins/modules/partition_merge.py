#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: partition_merge
short_description: Merge partitions into one part each, at the pace of their servers
version_added: 1.0.0
description:
  - Merges each partition into one part with C(OPTIMIZE TABLE … PARTITION ID '…' FINAL), so that the partition
    can be moved. Tables with the same servers are merged one partition at a time.
  - A partition is merged once every replica has the same single part. Only then the next merge starts.
  - Only partitions in hot are merged. An C(OPTIMIZE) of a cold part would remove its rows from the table.
    Therefore the module gives the statement under the lock of the shard path, which excludes moves.
  - No merge starts while a server is too busy. If a server stays too busy, the module waits for the started
    merges and fails with the reason. The next run skips merged partitions.
options:
  src:
    description:
      - Path of the C(merges.sql) of a report, on the host that runs the module. The partitions are merged in
        the order of the lines.
      - Exactly one of O(src) and O(partitions) is needed.
    type: path
  partitions:
    description: The partitions to merge, in order.
    type: list
    elements: dict
    suboptions:
      shard_path:
        description: ZooKeeper path of the table, C(zookeeper_path) in C(system.replicas).
        type: str
        required: true
      partition:
        description: Id of the partition.
        type: str
        required: true
  clickhouse:
    description: How to query the ClickHouse servers of the replicas. The user needs the privilege
      C(OPTIMIZE).
    required: true
  max_queue:
    description: Maximum length of the replication queue of the table. No merge starts while the queue of a
      replica is longer.
    type: int
    default: 20
  max_merges:
    description: Maximum number of running merges on a server, over all tables. No merge starts while a server
      runs more.
    type: int
    default: 8
  limit:
    description: Maximum number of merges to start; V(0) for no limit.
    type: int
    default: 0
  patience:
    description: How long servers may be too busy without interruption before the module stops. Each merge
      causes further work for the servers, such as fetching the part.
    type: str
    default: 10m
  timeout:
    description: How long a partition may take until every replica has the merged part, in seconds or with a
      unit.
    type: str
    default: 6h
  poll:
    description: Time between two checks of the running merges.
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
    details: Returns the partitions to merge, regardless of the load of the servers.
  diff_mode:
    support: none
  idempotent:
    support: full
notes:
  - A move with C(max_parts) above 1 may move partitions during a merge.
  - A merge changes a partition, so C(cold_after) and C(min_age) start again.
seealso:
  - module: olap.partmove.part_move
"""

EXAMPLES = r"""
- name: Merge the partitions that a report lists, at most 100 today
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

- name: Merge one partition, and wait for lightly loaded servers
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
  description: Merged partitions, in check mode partitions to merge, in order, as C(shard_path) and
    C(partition).
  returned: when the options are valid
  type: list
  elements: dict
  sample:
    - shard_path: /clickhouse/tables/01/hits
      partition: "20191201"
merged_already:
  description: Number of partitions that were merged before.
  returned: when the options are valid
  type: int
passed_by:
  description: Partitions that cannot be merged, as C(shard_path), C(partition) and C(reason).
  returned: when the options are valid
  type: list
  elements: dict
failed_partitions:
  description:
    - Partitions whose merge failed, as C(shard_path), C(partition), C(reason) and C(remedy). The module fails
      after all other replica sets are done.
    - No further partitions are merged on the servers of such a partition. They are counted as RV(left).
  returned: when the options are valid
  type: list
  elements: dict
left:
  description: Number of partitions left for another run.
  returned: when the options are valid
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
