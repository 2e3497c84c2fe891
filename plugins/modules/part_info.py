#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: part_info
short_description: Tell which parts are registered in the hot and in the cold ensemble
version_added: 0.1.0
description:
  - Reads the registration of the parts of ReplicatedMergeTree tables in both ensembles and adds it up by
    partition. Nothing is written, and no ClickHouse server is asked.
  - The answer describes a tree that servers go on changing while it is read.
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
      - ZooKeeper paths of the tables to look at, as C(system.replicas) has them in C(zookeeper_path).
      - Exactly one of O(shard_paths) and O(root) is needed.
    type: list
    elements: str
  root:
    description: Path that all tables at and below it are to be looked at, V(/) for all there are.
    type: str
  partitions:
    description:
      - Ids of the partitions to return, whether or not they have a part.
      - Without it, those that have a part registered in an ensemble are returned.
    type: list
    elements: str
  details:
    description: Whether to return each part besides the counts.
    type: str
    choices: [partitions, parts]
    default: partitions
seealso:
  - module: olap.partmove.part_move
"""

EXAMPLES = r"""
- name: See where the partitions of a table are
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

- name: Count all znodes of parts
  olap.partmove.part_info:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    root: /
"""

RETURN = r"""
partitions:
  description: The partitions, sorted by shard path and partition, with O(root) by the depth of the path
    first.
  returned: when the options could be used
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
      description: The State marker; empty where there is none, which servers take for HOT.
      type: str
    location:
      description:
        - Where the partition is. Needs O(cold).
        - V(hot), where copies may be in cold, V(cold), V(absent), or V(drifted) when State and registration
          contradict each other.
      type: str
    replicas:
      description: Replicas that have a part of it registered, sorted.
      type: list
      elements: str
    last_modified:
      description:
        - When the newest part was registered, in UTC.
        - Of a partition without parts in hot, when they were copied to cold.
      type: str
      sample: "2019-12-02T04:05:06.789Z"
    hot:
      description: What the hot ensemble has of it over all replicas, as C(parts), C(znodes) and C(bytes) of
        data.
      type: dict
    cold:
      description: The same of the cold ensemble.
      type: dict
      returned: with O(cold)
    parts:
      description:
        - Its parts, sorted by ensemble, replica and name, as C(ensemble), C(replica), C(part),
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
      last_modified: "2026-11-20T22:15:00.000Z"
      hot: {parts: 0, znodes: 0, bytes: 0}
      cold: {parts: 2, znodes: 2, bytes: 192}
totals:
  description: Sums by ensemble, V(hot) and with O(cold) also V(cold).
  returned: when the options could be used
  type: dict
  sample:
    hot: {partitions: 30, parts: 60, znodes: 60, bytes: 5760}
    cold: {partitions: 335, parts: 670, znodes: 670, bytes: 64320}
unreadable:
  description:
    - Tables with a znode that is not understood, or that may not be read, as C(shard_path), C(reason) and
      C(remedy). They are in none of the other values.
    - With O(root) also znodes that may not be read, as there may be tables below them.
  returned: when the options could be used
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
