#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: part_repair
short_description: Repair findings of one kind, or of all, in the part znodes of tables
version_added: 1.0.0
description:
  - Repairs the partitions of a shard path for which M(olap.partmove.part_audit_info) reports one kind of
    finding. Repair one kind after the other, in the order of the audit's C(repair_order), or V(all)
    kinds, and run each repair in check mode before.
  - Works under the lock of the shard path and queries the servers of all replicas. If a server does not
    answer, the partition is left as before, with the reason.
  - Before a znode is deleted or changed, its content is written to a file in O(backup).
    M(olap.partmove.part_restore) restores znodes from this file. The last registration of a part that may be
    on a disk is never removed.
  - Checks all partitions again afterwards. A partition counts as repaired only if the finding is gone.
notes:
  - The next audit reports the new kind of partitions of V(foreign) and V(half_cold). Adopted partitions are
    then moved, brought back or repaired as usual.
  - V(unregistered) needs the bytes of the part znodes, from another replica or from O(registrations). Without
    these bytes, run C(ALTER TABLE … DETACH PARTITION ID) and then C(ATTACH PARTITION ID) on the server; the
    table keeps all rows. Do not restart the server before.
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
    description:
      - ZooKeeper path of the table, C(zookeeper_path) in C(system.replicas).
      - One of O(shard_path) and O(shard_paths) is needed.
    type: str
  shard_paths:
    description:
      - ZooKeeper paths of tables, repaired one after the other with the same connections, each under its own
        lock and with its own file in O(backup).
      - A shard path that cannot be repaired, for example because a znode of it may not be read or written,
        does not keep the others. The module then fails at the end, with RV(failed_shard_paths).
      - An empty list is refused.
    type: list
    elements: str
  kind:
    description:
      - Kind of finding to repair. C(docs/operate/repair.md) lists the repair of each kind.
      - V(all) repairs all kinds in the order in which their repairs work, in rounds, until a round repairs
        nothing. In check mode each repair comes after the planned writes of the repairs before it, so
        RV(steps) and RV(operations) are those of the run, if nothing changes meanwhile.
    type: str
    required: true
    choices:
      - all
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
      - Ids of the partitions to repair; by default all partitions of the kind.
      - An empty text selects znodes whose names are not part names.
      - V(foreign) is always repaired for the whole shard path.
    type: list
    elements: str
  backup:
    description:
      - A folder on the host that runs the module. Each run that deletes or changes a znode writes one file.
    type: path
    required: true
  registrations:
    description:
      - "A file with part znodes: a backup in O(backup), a journal of moves, or a file of the role
        C(partmove_repair) with znodes from the files of a ZooKeeper member. Unregistered parts on disk are
        registered again from this file, if the hash equals the hash of the part on disk."
      - A journal does not have the bytes of part znodes in the legacy form, which have child znodes.
    type: path
  quiet:
    description:
      - Minimum time since the last write of copies or C(COLD) before V(foreign) adopts them. The other tool
        must not be at work any more.
    type: str
    default: 1h
  cold_is_lost:
    description:
      - Whether the former cold ensemble of the parts is lost for good, so that V(cold_unknown) may register
        the parts in hot.
      - Dangerous if that ensemble is only unreachable, or if another ensemble was given as O(cold).
    type: bool
    default: false
  replica_is_gone:
    description:
      - Whether the servers of replicas that hot does not have are gone for good. V(another_replica) then also
        removes registrations of parts that no other replica registers.
    type: bool
    default: false
  disks_are_mounted:
    description:
      - Whether all disks of all replicas are mounted. V(ghost), V(dropped) and V(former_table) remove the
        last registration of a part that no server shows only with this confirmation.
      - A server whose disk is not mounted answers as if it had no parts.
    type: bool
    default: false
  without_hashes:
    description:
      - Whether V(foreign) adopts cold parts by their names where a server shows no hash of its parts, as
        versions before 20.x. Otherwise such parts are not adopted, because nothing proves their data.
      - Dangerous if another table was at the path, or if another cluster uses it.
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
- name: Adopt partitions that another tool has moved, in check mode first
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

- name: Remove the copies that are left, of several tables
  olap.partmove.part_repair:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    cold:
      hosts: [cold1:2181, cold2:2181, cold3:2181]
    clickhouse:
      user: monitor
      password: "{{ monitor_password }}"
    shard_paths: [/clickhouse/tables/01/hits, /clickhouse/tables/02/hits]
    kind: copies_left
    backup: /var/lib/partmove

- name: Show the planned writes
  ansible.builtin.debug:
    var: adopted.operations
"""

RETURN = r"""
counts:
  description: Number of partitions of all shard paths by outcome, C(repaired) and C(left).
  returned: always
  type: dict
  sample: {repaired: 3, left: 1}
repaired:
  description: Repaired findings by shard path, partition and replica; in check mode, findings to repair.
  returned: always
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the table.
      type: str
    partition:
      description: Id of the partition.
      type: str
    replica:
      description: Name of the replica.
      type: str
    kind:
      description: Kind of the finding.
      type: str
    parts:
      description: Parts with the finding.
      type: list
      elements: str
left:
  description: Partitions of the kind that were not repaired.
  returned: always
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the table.
      type: str
    partition:
      description: Id of the partition.
      type: str
    kind:
      description: Kind of the finding.
      type: str
    reason:
      description: Reason for leaving the partition unchanged.
      type: str
    remedy:
      description: Next step for the partition.
      type: str
failed_shard_paths:
  description: Shard paths of O(shard_paths) that could not be repaired.
  returned: always
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the table.
      type: str
    reason:
      description: Why the repair of the shard path ended.
      type: str
    remedy:
      description: Next step for the shard path.
      type: str
steps:
  description: The repairs in order, each of one kind on one shard path; in check mode, the planned ones.
  returned: always
  type: list
  elements: dict
  contains:
    kind:
      description: Kind of the findings.
      type: str
    shard_path:
      description: ZooKeeper path of the table.
      type: str
    repaired:
      description: Number of repaired partitions.
      type: int
    left:
      description: Number of partitions that were left.
      type: int
  sample: [{kind: dropped, shard_path: /clickhouse/tables/01/hits, repaired: 1, left: 0}]
operations:
  description: Writes to the ensembles in order; in check mode, planned writes.
  returned: always
  type: list
  elements: str
  sample:
    - "hot: set /clickhouse/tables/01/hits/block_numbers/20191201/State to 'HOT'"
seconds:
  description: How long the repair of the shard paths took, waits for locks and load included.
  returned: always
  type: float
  sample: 3.9
backup:
  description: Path of the backup file of O(shard_path); empty if no znode was deleted or changed.
  returned: always
  type: str
  sample: /var/lib/partmove/2026-11-22T064500.000Z-ghost-%2Fclickhouse%2Ftables%2F01%2Fhits.jsonl
backups:
  description: Paths of all backup files, one for each shard path with a deleted or changed znode.
  returned: always
  type: list
  elements: str
"""

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.olap.partmove.plugins.module_utils._tasks import argspec
from ansible_collections.olap.partmove.plugins.module_utils._tasks.runner import Task, run

KINDS = [
    "all",
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
            "shard_path": {"type": "str"},
            "shard_paths": {"type": "list", "elements": "str"},
            "kind": {"type": "str", "choices": KINDS, "required": True},
            "partitions": {"type": "list", "elements": "str"},
            "backup": {"type": "path", "required": True},
            "registrations": {"type": "path"},
            "quiet": {"type": "str", "default": "1h"},
            "cold_is_lost": {"type": "bool", "default": False},
            "replica_is_gone": {"type": "bool", "default": False},
            "disks_are_mounted": {"type": "bool", "default": False},
            "without_hashes": {"type": "bool", "default": False},
            "journal": {"type": "path"},
        },
        mutually_exclusive=[("shard_path", "shard_paths")],
        required_one_of=[("shard_path", "shard_paths")],
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.part_repair import PartRepair

    return PartRepair(params)


if __name__ == "__main__":
    main()
