#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: part_info
short_description: Report which parts are registered in the hot and in the cold ensemble
version_added: 1.0.0
description:
  - Reads the part znodes of ReplicatedMergeTree tables in both ensembles and adds up parts, znodes and bytes
    by partition. Writes nothing and queries no ClickHouse server.
  - Servers continue to change the znodes during the read.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles.read_only
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
  partitions:
    description:
      - Ids of the partitions to return, even if a partition has no part.
      - By default all partitions with a registered part are returned.
    type: list
    elements: str
  details:
    description: Whether to return only the counts, or each part, too.
    type: str
    choices: [partitions, parts]
    default: partitions
seealso:
  - module: olap.partmove.part_move
"""

EXAMPLES = r"""
- name: Show the locations of the partitions of a table
  olap.partmove.part_info:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    cold:
      hosts: [cold1:2181, cold2:2181, cold3:2181]
    shard_paths:
      - /clickhouse/tables/01/hits
  register: parts

- name: List partitions whose State contradicts their registration
  ansible.builtin.debug:
    var: parts.partitions | selectattr('location', 'eq', 'drifted')

- name: Count all part znodes in hot
  olap.partmove.part_info:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    root: /
"""

RETURN = r"""
partitions:
  description: The partitions, sorted by shard path and partition; with O(root) first by the depth of the
    path.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the table.
      type: str
    partition:
      description: Id of the partition.
      type: str
    state:
      description: The State marker; empty without a marker, which means HOT to servers.
      type: str
    location:
      description:
        - Location of the partition. Needs O(cold).
        - V(hot), possibly with copies in cold; V(cold); V(absent); or V(drifted) if State and registration
          contradict each other. Parts of C(former_replicas) do not count.
      type: str
    replicas:
      description: Replicas with a registered part of the partition, sorted.
      type: list
      elements: str
    former_replicas:
      description:
        - Those of C(replicas) that hot does not have, sorted. M(olap.partmove.part_repair) removes their
          parts from cold with the kind V(another_replica).
      type: list
      elements: str
    last_modified:
      description:
        - Time when the newest part was registered, in UTC.
        - Time of the copy to cold if no part is registered in hot.
      type: str
      sample: "2019-12-02T04:05:06.789Z"
    hot:
      description: "Counts in the hot ensemble over all replicas: C(parts), C(znodes) and C(bytes) of data."
      type: dict
    cold:
      description: Counts in the cold ensemble, with the same keys.
      type: dict
      returned: with O(cold)
    parts:
      description:
        - Parts of the partition, sorted by ensemble, replica and name, as C(ensemble), C(replica), C(part),
          C(last_modified), C(znodes) and C(bytes).
      type: list
      elements: dict
      returned: with O(details=parts)
  sample:
    - shard_path: /clickhouse/tables/01/hits
      partition: "20191201"
      state: COLD
      location: cold
      replicas: [r1, r2]
      former_replicas: []
      last_modified: "2026-11-20T22:15:00.000Z"
      hot: {parts: 0, znodes: 0, bytes: 0}
      cold: {parts: 2, znodes: 2, bytes: 192}
totals:
  description: Sums by ensemble, V(hot) and with O(cold) also V(cold).
  returned: when the options are valid
  type: dict
  sample:
    hot: {partitions: 30, parts: 60, znodes: 60, bytes: 5760}
    cold: {partitions: 335, parts: 670, znodes: 670, bytes: 64320}
unreadable:
  description:
    - Tables with an invalid znode or a znode that may not be read, and tables that are bound to another cold
      ensemble than O(cold), as C(shard_path), C(reason) and C(remedy). The other values do not include these
      tables.
    - With O(root) also znodes that may not be read, because tables may be below.
  returned: when the options are valid
  type: list
  elements: dict
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
            "cold": argspec.ensemble(required=False),
            "coordination_root": argspec.COORDINATION_ROOT,
            "shard_paths": {"type": "list", "elements": "str"},
            "root": {"type": "str"},
            "partitions": {"type": "list", "elements": "str"},
            "details": {"type": "str", "choices": ["partitions", "parts"], "default": "partitions"},
        },
        mutually_exclusive=[("shard_paths", "root")],
        required_one_of=[("shard_paths", "root")],
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.part_info import PartInfo

    return PartInfo(params)


if __name__ == "__main__":
    main()
