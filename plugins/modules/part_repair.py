#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: part_repair
short_description: Repair one kind of drift in the registration of a table's parts
version_added: 0.1.0
description:
  - Repairs the partitions of a shard path that M(olap.partmove.part_audit_info) says to be of one kind.
    Repair one kind after the other, the worst first, and try each in check mode before.
  - It works under the lock of the shard path, asks the servers of all replicas, and leaves a partition as it
    is, with the reason, while one of them is silent.
  - Every znode that is deleted or changed is first written to a file in O(backup), from which
    M(olap.partmove.part_restore) puts it back. The last registration of a part that may be on a disk is
    never removed.
  - Partitions are looked at once more afterwards. Only those that are not of the kind any more count as
    repaired.
notes:
  - What V(foreign) and V(half_cold) become is told by the next audit. Adopted partitions are then moved,
    brought back or repaired as any other.
  - V(unregistered) needs the bytes that registered the parts, from another replica or from O(registrations).
    Where there are none, C(ALTER TABLE … DETACH PARTITION ID) and then C(ATTACH PARTITION ID) on the server
    keep all rows. Do not restart the server before.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles
  - olap.partmove.ensembles.lock
  - olap.partmove.clickhouse_server.replicas
  - olap.partmove.journal
  - olap.partmove.load
  - olap.partmove.load.progress
  - olap.partmove.load.parts
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
  kind:
    description:
      - The kind of drift to repair. C(docs/operate/repair.md) says of each what is done.
    type: str
    required: true
    choices:
      - another_replica
      - cold_unknown
      - cold_unmarked
      - copies_differ
      - copies_left
      - dropped
      - empty_marked_cold
      - foreign
      - former_table
      - ghost
      - half_cold
      - hot_marked_cold
      - registered_for_another
      - unreadable
      - unregistered
  partitions:
    description:
      - Ids of the partitions to repair, all of the kind if not given.
      - An empty text stands for znodes whose name no part has.
      - V(foreign) is repaired for the whole shard path.
    type: list
    elements: str
  backup:
    description:
      - A folder on the host that this runs on. Each run that deletes or changes something writes one file.
    type: path
    required: true
  registrations:
    description:
      - A file that an earlier run wrote to O(backup), a journal of moves, or what the role C(partmove_repair)
        takes from the files of a ZooKeeper member. Parts that are on disk and registered nowhere are
        registered again as it has them, where the hash equals that of the disk.
      - Of parts in the legacy form, which have child znodes, a journal does not have the bytes.
    type: path
  quiet:
    description:
      - For how long nobody may have written copies or C(COLD) until V(foreign) adopts them. The other tool
        may not be at work any more.
    type: str
    default: 1h
  cold_is_lost:
    description:
      - Whether the cold ensemble that the parts went to is lost for good, so that V(cold_unknown) may
        register them in hot.
      - Dangerous while that ensemble is only out of reach or was not the one given.
    type: bool
    default: false
  replica_is_gone:
    description:
      - Whether the servers of replicas that hot does not have are gone for good. V(another_replica) then also
        removes what is registered for no other replica.
    type: bool
    default: false
  clickhouse:
    required: true
seealso:
  - module: olap.partmove.part_audit_info
  - module: olap.partmove.part_restore
  - module: olap.partmove.part_move
  - module: olap.partmove.journal_info
"""

EXAMPLES = r"""
- name: Adopt what another tool has moved, in check mode first
  olap.partmove.part_repair:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    cold:
      hosts: [cold1:2181, cold2:2181, cold3:2181]
    clickhouse:
      user: monitor
      password: "{{ monitor_password }}"
    shard_path: /clickhouse/tables/01/hits
    kind: foreign
    backup: /var/lib/partmove
  check_mode: true
  register: adopted

- name: Show what would be done
  ansible.builtin.debug:
    var: adopted.operations
"""

RETURN = r"""
repaired:
  description: What was repaired, or would be, by partition and replica.
  returned: always
  type: list
  elements: dict
  contains:
    partition:
      description: Id of the partition.
      type: str
    replica:
      description: Name of the replica.
      type: str
    kind:
      description: What it was.
      type: str
    parts:
      description: The parts that it was so for.
      type: list
      elements: str
left:
  description: Partitions of the kind that were left as they are.
  returned: always
  type: list
  elements: dict
  contains:
    partition:
      description: Id of the partition.
      type: str
    reason:
      description: Why.
      type: str
    remedy:
      description: The way out.
      type: str
operations:
  description: What was written to the ensembles, or would be, in order.
  returned: always
  type: list
  elements: str
  sample:
    - "hot: set /clickhouse/tables/01/hits/block_numbers/20191201/State to 'HOT'"
backup:
  description: The file that was written; empty if nothing was deleted or changed.
  returned: always
  type: str
  sample: /var/lib/partmove/2026-11-22T064500.000Z-ghost-%2Fclickhouse%2Ftables%2F01%2Fhits.jsonl
"""

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.olap.partmove.plugins.module_utils._tasks import argspec
from ansible_collections.olap.partmove.plugins.module_utils._tasks.runner import Task, run

KINDS = [
    "another_replica",
    "cold_unknown",
    "cold_unmarked",
    "copies_differ",
    "copies_left",
    "dropped",
    "empty_marked_cold",
    "foreign",
    "former_table",
    "ghost",
    "half_cold",
    "hot_marked_cold",
    "registered_for_another",
    "unreadable",
    "unregistered",
]


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "hot": argspec.ensemble(),
            "cold": argspec.ensemble(),
            "coordination_root": argspec.COORDINATION_ROOT,
            "lock_wait": argspec.LOCK_WAIT,
            **argspec.LOAD,
            **argspec.PARTS_PER_SECOND,
            "clickhouse": argspec.clickhouse(required=True),
            "shard_path": {"type": "str", "required": True},
            "kind": {"type": "str", "choices": KINDS, "required": True},
            "partitions": {"type": "list", "elements": "str"},
            "backup": {"type": "path", "required": True},
            "registrations": {"type": "path"},
            "quiet": {"type": "str", "default": "1h"},
            "cold_is_lost": {"type": "bool", "default": False},
            "replica_is_gone": {"type": "bool", "default": False},
            "journal": {"type": "path"},
        },
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.part_repair import PartRepair

    return PartRepair(params)


if __name__ == "__main__":
    main()
