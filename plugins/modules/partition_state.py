#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: partition_state
short_description: Set the State marker of a partition
version_added: 0.1.0
description:
  - Sets the znode C(block_numbers/<partition>/State) of a table in the hot ensemble, which tells patched
    ClickHouse servers in which ensemble C(DROP PARTITION) finds the parts. Exactly V(COLD) means the cold
    one, anything else, or no marker, the hot one.
  - It moves nothing, and it refuses to make the marker say what is not true. To move a partition use
    M(olap.partmove.part_move), which sets the marker at the same instant.
  - Before it changes a marker it asks the servers of all replicas which parts they have on disk, active.
notes:
  - The marker is created once and never deleted, because each creation uses up a block number of the
    partition.
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
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  shard_path:
    description: ZooKeeper path of the table, as C(system.replicas) has it in C(zookeeper_path).
    type: str
    required: true
  partition:
    description: Id of the partition, as C(system.parts) has it in C(partition_id).
    type: str
    required: true
  state:
    description:
      - What the marker is to say.
      - V(COLD) is refused while a part of the partition is registered in hot, or none in cold, or the servers
        have other parts than are registered there.
      - V(HOT) is refused while the servers have other parts than are registered in hot. Registrations in cold
        that no server has a part of are no obstacle. They are what C(DROP PARTITION) left behind, and
        M(olap.partmove.part_move) with C(state=hot) removes them afterwards.
      - V(cold) and V(hot), as M(olap.partmove.part_move) has them, mean V(COLD) and V(HOT).
    type: str
    choices: [HOT, COLD, hot, cold]
    required: true
  assume_active:
    description:
      - Whether to take for granted that each replica has the registered parts on disk, in place of asking the
        servers with O(clickhouse).
      - V(HOT) is then refused while a part of the partition is registered in cold only.
      - Dangerous. A marker that is not true makes C(DROP PARTITION) look in the wrong ensemble.
    type: bool
    default: false
seealso:
  - module: olap.partmove.part_move
  - module: olap.partmove.part_info
"""

EXAMPLES = r"""
- name: Put right a marker that another tool left behind
  olap.partmove.partition_state:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    cold:
      hosts: [cold1:2181, cold2:2181, cold3:2181]
    shard_path: /clickhouse/tables/01/hits
    partition: "20191201"
    state: COLD
    clickhouse:
      user: monitor
      password: "{{ monitor_password }}"
"""

RETURN = r"""
state_before:
  description: The marker before; empty where there was none.
  returned: success
  type: str
  sample: HOT
state:
  description: The marker now, or as it would be in check mode.
  returned: success
  type: str
  sample: COLD
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
            "lock_wait": argspec.LOCK_WAIT,
            "shard_path": {"type": "str", "required": True},
            "partition": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["HOT", "COLD", "hot", "cold"], "required": True},
            "assume_active": {"type": "bool", "default": False},
            "clickhouse": argspec.clickhouse(),
        },
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.partition_state import PartitionState

    return PartitionState(params)


if __name__ == "__main__":
    main()
