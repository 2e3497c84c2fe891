#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: partition_state
short_description: Set the State marker of a partition
version_added: 1.0.0
description:
  - Sets the znode C(block_numbers/<partition>/State) of a table in the hot ensemble. Patched ClickHouse
    servers read this marker to find the parts for C(DROP PARTITION). Exactly V(COLD) means the cold ensemble.
    Any other value and a missing marker mean the hot ensemble.
  - Moves no part znodes, and refuses a value that contradicts the registration of the parts. Use
    M(olap.partmove.part_move) to move a partition and set its marker at the same instant.
  - Before a change the module asks the servers of all replicas for the active parts on disk.
  - Refuses a change while a log or queue entry for the partition waits. A waiting drop reads the marker.
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
    description: ZooKeeper path of the table, C(zookeeper_path) in C(system.replicas).
    type: str
    required: true
  partition:
    description: Id of the partition, C(partition_id) in C(system.parts).
    type: str
    required: true
  state:
    description:
      - Value of the marker.
      - V(COLD) is refused if hot registers a part of the partition, or cold registers none. The parts on the
        servers also have to equal the parts in cold.
      - "V(HOT) is refused if the parts on the servers differ from the parts in hot. Parts that are registered
        in cold and missing on all servers do not matter: C(DROP PARTITION) left these part znodes behind, and
        M(olap.partmove.part_move) with C(state=hot) removes them later."
      - V(cold) and V(hot), the spelling of M(olap.partmove.part_move), mean V(COLD) and V(HOT).
    type: str
    choices: [HOT, COLD, hot, cold]
    required: true
  assume_active:
    description:
      - Whether to assume, without querying the servers of O(clickhouse), that each replica has the registered
        parts on disk.
      - V(HOT) is then refused while a part of the partition is registered in cold only.
      - Dangerous. With a wrong marker C(DROP PARTITION) searches in the wrong ensemble.
    type: bool
    default: false
seealso:
  - module: olap.partmove.part_move
  - module: olap.partmove.part_info
"""

EXAMPLES = r"""
- name: Correct a marker that another tool left behind
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
  description: The marker before; empty without a marker.
  returned: success
  type: str
  sample: HOT
state:
  description: The marker now; in check mode, the marker after a run.
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
