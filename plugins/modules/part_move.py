#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: part_move
short_description: Move the registration of partitions to the cold ensemble, or back to hot
version_added: 0.1.0
description:
  - Takes the registration of the parts of old partitions of ReplicatedMergeTree tables out of the hot
    ZooKeeper ensemble, after it was copied to the cold one and every member of that ensemble was seen to
    have the copy. No data of a table is touched.
  - With O(state=hot) it goes the other way, for instance before a downgrade of ClickHouse, or when old data
    is to change again. Parts that are registered in cold only are registered in hot again, where any server
    finds them.
  - The copies stay in cold for ten minutes then, as a server that is starting may still look for them. A
    later run removes them. One that comes too early defers the partition by the gate C(copies_needed).
  - A partition goes over at one instant for all replicas of its shard path, or not at all. Whatever ends a
    run, nothing is half done, and running again goes on where it ended.
  - Each partition has to pass gates that look for anything that could still work on its parts, such as
    merges, mutations, inserts and replicas that lag. A partition that does not pass is deferred and told
    with the gate and the way out. That is no failure of the module.
  - A partition that servers have on disk and that neither ensemble registers is failed, by the gate
    C(registered). The next restart of such a server would set it aside.
  - Only one run at a time can work on a shard path.
notes:
  - A ClickHouse server that does not know the cold ensemble does not start any more once partitions of its
    tables are cold. M(olap.partmove.replica_ledger) keeps the list of servers that do know it.
  - Merges, mutations, C(OPTIMIZE FINAL), C(CHECK TABLE), late inserts and new replicas must be kept away from
    cold partitions.
  - Copies are removed when all replicas are active and every member of O(hot) knows that the partition is hot
    again, so none of the members may be missing then. If one is, the gate C(hot_members) defers it.
  - In check mode everything is read for real and nothing is written, so it tells what a run would do now. It
    cannot tell whether the identity may write.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles
  - olap.partmove.ensembles.lock
  - olap.partmove.clickhouse_server.replicas
  - olap.partmove.journal
  - olap.partmove.moves
  - olap.partmove.moves.chosen
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
    details: With O(state=hot), a later run also removes the copies of what was brought back.
options:
  state:
    description:
      - Where the partitions are to be registered.
      - With V(hot), O(min_age), O(max_parts) and O(assume_patched) are not used, nor is the ledger.
      - V(COLD) and V(HOT), as a plan has them, mean V(cold) and V(hot).
    type: str
    choices: [cold, hot, COLD, HOT]
    default: cold
  shard_paths:
    description:
      - ZooKeeper paths of tables, in place of a plan file. All that is not in hot alone is brought back.
      - A partition whose State is COLD and that neither ensemble registers was dropped, or O(cold) has lost
        it. It is passed over if no server has it, failed if one has, and deferred if no server is asked.
      - Only with O(state=hot). A table that cannot be read makes the module fail once the others are done.
    type: list
    elements: str
  min_age:
    description:
      - How long ago the newest part of a partition must have been registered, as seconds or with a unit, such
        as V(36h) or V(7d).
      - Inserts cannot be kept out of a partition, so it should be one that gets none any more.
    type: str
    default: 1d
  max_parts:
    description:
      - How many parts of a partition a replica may have.
      - More than 1 is dangerous. Parts that can be merged with each other are detached as soon as a server
        tries to, so only raise it for a table that is never merged again.
    type: int
    default: 1
  assume_patched:
    description:
      - Whether to take for granted that every replica of every shard path runs a patched server that was
        started with the cold ensemble in its configuration, in place of looking into the ledger.
      - Without it only partitions are moved of which every replica was entered with
        M(olap.partmove.replica_ledger) for the same members of O(cold), and has not restarted since.
      - Dangerous. A server of which that is not true does not start any more, or starts without the data. Nor
        does withdrawing a replica from the ledger stop such a run.
    type: bool
    default: false
  assume_active:
    description:
      - Whether to take for granted that each replica has the registered parts on disk, active and unharmed,
        in place of asking the servers with O(clickhouse).
      - Dangerous. A part that is damaged on disk cannot be fetched again once it is cold.
    type: bool
    default: false
  workers:
    description:
      - How many shard paths to work on at the same time, up to 64, each under its own lock.
      - With 0 it is as many as there are shard paths, up to 16, and fewer where shard paths have so many
        partitions to move that those under way would be more than 20000. Memory is needed for that many.
      - More of them help where the ensembles are far away. All share one session with each ensemble.
    type: int
    default: 0
seealso:
  - module: olap.partmove.part_info
  - module: olap.partmove.journal_info
  - module: olap.partmove.partition_state
  - module: olap.partmove.replica_ledger
"""

EXAMPLES = r"""
- name: See what a plan would move, and what not and why
  olap.partmove.part_move:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    cold:
      hosts: [cold1:2181, cold2:2181, cold3:2181]
    plan: /var/lib/partmove/plan.jsonl
    clickhouse:
      user: monitor
      password: "{{ monitor_password }}"
  check_mode: true
  diff: true

- name: Move one month of one shard
  olap.partmove.part_move:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
      chroot: /clickhouse
    cold:
      hosts: [cold1:2281, cold2:2281, cold3:2281]
      chroot: /clickhouse
      auth:
        scheme: digest
        credential: "{{ cold_credential }}"
    partitions:
      - shard_path: /tables/01/hits
        partition: "201912"
    min_age: 30d
    clickhouse:
      user: monitor
      password: "{{ monitor_password }}"
    journal: /var/log/partmove.jsonl
  register: move

- name: Say why partitions stayed where they are
  ansible.builtin.debug:
    msg: "{{ item.deferred }} deferred by {{ item.gate }}. {{ item.remedy }}"
  loop: "{{ move.gates }}"

- name: Bring all of a table back before a downgrade
  olap.partmove.part_move: &back
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    cold:
      hosts: [cold1:2181, cold2:2181, cold3:2181]
    state: hot
    shard_paths: [/clickhouse/tables/01/hits, /clickhouse/tables/02/hits]
    clickhouse:
      user: monitor
      password: "{{ monitor_password }}"

- name: Remove the copies in cold as soon as no server needs them
  olap.partmove.part_move: *back
  register: back
  until: back is failed or 'copies_needed' not in back.gates | map(attribute='gate')
  retries: 15
  delay: 60
"""

RETURN = r"""
changed:
  description:
    - Whether the run left anything of a partition other than it was before. One counts as well that failed
      after it was switched, or of which nobody knows whether it was; whose switch was undone; or that was
      deferred and had copies of an earlier run, which were removed.
    - Where a run ended right after a switch and the next one finds the partition RV(unchanged), the first one
      changed it.
  returned: when the options could be used
  type: bool
msg:
  description: The counts in a sentence, or what is wrong and the way out.
  returned: always
  type: str
  sample: 3 moved, 1 deferred, 0 failed, 2 unchanged
counts:
  description: How many partitions there are of each kind.
  returned: when the options could be used
  type: dict
  contains:
    moved:
      description: Partitions that were moved, or would be in check mode.
      type: int
    copies_removed:
      description: Partitions that were hot again already and have no copies in cold any more.
      type: int
    deferred:
      description: Partitions that a gate kept as they were.
      type: int
    failed:
      description: Partitions that a person has to look at.
      type: int
    unchanged:
      description: Partitions that were as O(state) wants them already.
      type: int
    other_state:
      description: Rows of the plan that want another state.
      type: int
    not_reached:
      description: Partitions that nothing was done about because the run ended early. Those of O(shard_paths)
        count from when the run got to their shard path.
      type: int
gates:
  description: Each gate that kept partitions back, sorted by name.
  returned: when the options could be used
  type: list
  elements: dict
  contains:
    gate:
      description: Name of the gate.
      type: str
    deferred:
      description: How many partitions it deferred.
      type: int
    failed:
      description: How many partitions failed for this reason.
      type: int
    remedy:
      description: The way out, as told for the first of them.
      type: str
  sample:
    - gate: one_part
      deferred: 12
      failed: 0
      remedy: OPTIMIZE TABLE … PARTITION … FINAL, wait until the old parts are cleaned up, and run again
totals:
  description: What left the hot ensemble, or came back to it, or would in check mode, over all replicas.
  returned: when the options could be used
  type: dict
  contains:
    parts:
      description: Parts.
      type: int
    znodes:
      description: Znodes.
      type: int
    bytes:
      description: Bytes of data in these znodes.
      type: int
    seconds:
      description: How long the run took.
      type: float
moved:
  description: Partitions that were moved, sorted by shard path and partition, at most O(max_listed) of them.
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
    state_before:
      description: The State marker before; empty where there was none.
      type: str
    state:
      description: The State marker now, C(COLD) or C(HOT).
      type: str
    parts:
      description: Parts that went over, of all replicas.
      type: int
    znodes:
      description: Znodes that registered them.
      type: int
    bytes:
      description: Bytes of data in these znodes.
      type: int
copies_removed:
  description: Partitions whose copies in cold were removed, sorted, at most O(max_listed) of them.
  returned: when the options could be used
  type: list
  elements: dict
  contains: &partition
    shard_path:
      description: ZooKeeper path of the table.
      type: str
    partition:
      description: Id of the partition.
      type: str
deferred:
  description: Partitions that a gate kept as they were, sorted, at most O(max_listed) of them.
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
    gate:
      description: Name of the gate.
      type: str
    reason:
      description: What it saw.
      type: str
    remedy:
      description: The way out.
      type: str
failed_partitions:
  description: Partitions that a person has to look at, with the same keys as RV(deferred). The module fails
    when there is one.
  returned: when the options could be used
  type: list
  elements: dict
unchanged:
  description: Partitions that were as O(state) wants them already, sorted, at most O(max_listed) of them.
  returned: when the options could be used
  type: list
  elements: dict
  contains: *partition
other_state:
  description: Rows of the plan that want another state than O(state), at most O(max_listed) of them.
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
      description: The state that the plan wants.
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
            "clickhouse": argspec.clickhouse(),
            **argspec.MOVES,
            "max_parts": {"type": "int", "default": 1},
            "assume_patched": {"type": "bool", "default": False},
            "assume_active": {"type": "bool", "default": False},
        },
        mutually_exclusive=[("plan", "partitions", "shard_paths")],
        required_one_of=[("plan", "partitions", "shard_paths")],
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.part_move import PartMove

    return PartMove(params)


if __name__ == "__main__":
    main()
