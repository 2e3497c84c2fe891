#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: part_move
short_description: Move part znodes of partitions to the cold ensemble, or back to hot
version_added: 1.0.0
description:
  - Moves the part znodes of old partitions of ReplicatedMergeTree tables from the hot ZooKeeper ensemble to
    the cold ensemble. The module first copies the znodes, and verifies the copies on every member of the cold
    ensemble. No data of a table is touched.
  - With O(state=hot) the module registers parts again in hot that are registered in cold only, so that any
    server finds them. This is needed before a downgrade of ClickHouse, and before old data is changed.
  - After a move to hot the copies stay in cold for ten minutes, because a starting server may still read
    them. A later run removes the copies. A run within the ten minutes defers the partition by the gate
    C(copies_needed).
  - A partition is switched for all replicas of its shard path at the same instant, or not at all. However a
    run ends, no partition is left half switched, and the next run continues.
  - Each partition has to pass gates, which detect all activity on its parts, such as merges, mutations,
    inserts and lagging replicas. A partition that fails a gate is deferred and returned with the gate and the
    remedy. Deferred partitions do not fail the module, unless O(fail_when_deferred_by) names the gate.
  - A partition fails by the gate C(registered) if servers have its parts on disk and neither ensemble
    registers them. The next restart of such a server would move the parts to C(detached/).
  - Only one run at a time can work on a shard path.
notes:
  - Once partitions of a table are cold, ClickHouse servers without the cold ensemble in their configuration
    no longer start. M(olap.partmove.replica_ledger) keeps the list of servers that have the cold ensemble.
  - Keep merges, mutations, C(OPTIMIZE FINAL), C(CHECK TABLE), late inserts and new replicas away from cold
    partitions.
  - A run removes copies only while all replicas are active and every member of O(hot) knows that the
    partition is hot again. If a member is missing, the gate C(hot_members) defers the partition.
  - Check mode reads everything and writes nothing, so the result shows what a run would do now. Check mode
    cannot show whether the identity may write.
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
    details: With O(state=hot), a later run also removes the copies of partitions that an earlier run brought
      back.
options:
  processes:
    description:
      - Number of processes that share the shard paths, from 1 to 16; V(auto) to choose by the processors that
        the module may use and by the amount of work, at most 8.
      - O(workers), O(max_parts_per_second) and the operations in flight are divided among the processes. Each
        process has its own sessions and its own memory.
      - The result, the journal, the progress and signals are those of one run.
    type: str
    default: "1"
  state:
    description:
      - Ensemble in which the partitions are to be registered.
      - With V(hot) the module ignores O(min_age), O(max_parts), O(assume_patched) and the ledger.
      - V(COLD) and V(HOT), the spelling in plans, mean V(cold) and V(hot).
    type: str
    choices: [cold, hot, COLD, HOT]
    default: cold
  shard_paths:
    description:
      - ZooKeeper paths of tables, instead of a plan file. All partitions that are not only in hot are brought
        back.
      - A partition with the State COLD that is unregistered in both ensembles was dropped, or O(cold) has
        lost its znodes. The partition is left out if no server has its parts, fails if a server has them, and
        is deferred if no server is queried.
      - Only with O(state=hot). If a table cannot be read, the module processes the other tables and then
        fails.
    type: list
    elements: str
  min_age:
    description:
      - Minimum age of the newest part of a partition, measured from its registration. In seconds or with a
        unit, such as V(36h) or V(7d).
      - Inserts into a partition cannot be prevented, so choose an age at which partitions no longer get
        inserts.
    type: str
    default: 1d
  max_parts:
    description:
      - Maximum number of parts that a partition may have on a replica.
      - A value above 1 is dangerous. When a server tries to merge parts of a cold partition, these parts are
        detached. Raise this value only for a table without merges.
    type: int
    default: 1
  assume_patched:
    description:
      - Whether to assume, without reading the ledger, that every replica runs a patched server that was
        started with the cold ensemble in its configuration.
      - Without this option a partition is moved only if M(olap.partmove.replica_ledger) has entered each of
        its replicas for the same members of O(cold). No replica may have restarted since.
      - Dangerous. If the assumption is wrong, a server no longer starts, or starts without the data.
        Withdrawing a replica from the ledger does not stop such a run either.
    type: bool
    default: false
  assume_active:
    description:
      - Whether to assume, without querying the servers of O(clickhouse), that each replica has the registered
        parts on disk, active and undamaged. Without O(clickhouse) this option is needed.
      - Dangerous. A part that is damaged on disk cannot be fetched again once its partition is cold.
    type: bool
    default: false
  workers:
    description:
      - Number of shard paths to work on at the same time, up to 64, each under its own lock.
      - With 0 the number is the number of shard paths, up to 16. If the ensembles are far away, it is up to 5
        for each millisecond until they answer, at most 64. The number is lower if the shard paths in progress
        would have more than 20000 partitions to move. A run needs memory for these partitions.
      - All workers share one session with each ensemble.
    type: int
    default: 0
seealso:
  - module: olap.partmove.part_info
  - module: olap.partmove.journal_info
  - module: olap.partmove.partition_state
  - module: olap.partmove.replica_ledger
"""

EXAMPLES = r"""
- name: Show which partitions a plan would move, and why others are deferred
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

- name: Show why partitions were deferred
  ansible.builtin.debug:
    msg: "{{ item.deferred }} deferred by {{ item.gate }}. {{ item.remedy }}"
  loop: "{{ move.gates }}"

- name: Bring back all partitions of a table before a downgrade
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
    - Whether the run changed a partition. This includes a partition that failed after the switch or with an
      unknown outcome, and a partition whose switch was undone. A deferred partition also counts if the run
      removed copies of an earlier run.
    - If a run ends right after a switch and the next run returns the partition in RV(unchanged), the first
      run has changed the partition.
  returned: when the options are valid
  type: bool
msg:
  description: The counts in a sentence, or the error and its remedy.
  returned: always
  type: str
  sample: 3 moved, 1 deferred, 0 failed, 2 unchanged
counts:
  description: Number of partitions by outcome.
  returned: when the options are valid
  type: dict
  contains:
    moved:
      description: Partitions that were moved, or would be moved in check mode.
      type: int
    copies_removed:
      description: Partitions that were hot already, and whose copies in cold were removed.
      type: int
    deferred:
      description: Partitions that a gate deferred, unchanged.
      type: int
    failed:
      description: Partitions that need manual action.
      type: int
    unchanged:
      description: Partitions that were in O(state) already.
      type: int
    other_state:
      description: Rows of the plan with another state.
      type: int
    not_reached:
      description: Partitions that the run did not process because the run ended early. Partitions of
        O(shard_paths) are included from the time when the run reads their shard path.
      type: int
gates:
  description: Each gate that deferred or failed partitions, sorted by name.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    gate:
      description: Name of the gate.
      type: str
    deferred:
      description: Number of partitions that the gate deferred.
      type: int
    failed:
      description: Number of partitions that failed by the gate.
      type: int
    remedy:
      description: Remedy for the first of these partitions.
      type: str
  sample:
    - gate: one_part
      deferred: 12
      failed: 0
      remedy: OPTIMIZE TABLE … PARTITION … FINAL, wait until the old parts are cleaned up, and run again
ended_holds:
  description: Holds of C(twin_hold) whose time had passed, and which the module deleted, by shard path. A
    hold whose time has not passed defers partitions by the gate C(not_held).
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the table.
      type: str
    owner:
      description: Owner of the hold.
      type: str
    reason:
      description: Reason of the hold.
      type: str
    until:
      description: End of the hold in UTC.
      type: str
totals:
  description: Parts and znodes that left the hot ensemble or came back, over all replicas; in check mode,
    that would do so.
  returned: when the options are valid
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
      description: Duration of the run.
      type: float
moved:
  description: Partitions that were moved, sorted by shard path and partition, at most O(max_listed).
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
    state_before:
      description: The State marker before the move; empty without a marker.
      type: str
    state:
      description: The State marker now, C(COLD) or C(HOT).
      type: str
    parts:
      description: Number of moved parts, over all replicas.
      type: int
    znodes:
      description: Number of moved part znodes.
      type: int
    bytes:
      description: Bytes of data in these znodes.
      type: int
bound:
  description: Shard paths that this run bound to the two ensembles, sorted, at most O(max_listed). Ensembles
    without an identity got one. In check mode, the shard paths that a run would bind.
  returned: when the options are valid
  type: list
  elements: str
  sample: [/clickhouse/tables/01/hits]
copies_removed:
  description: Partitions whose copies in cold were removed, sorted, at most O(max_listed).
  returned: when the options are valid
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
  description: Partitions that a gate deferred, sorted, at most O(max_listed).
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
    gate:
      description: Name of the gate.
      type: str
    reason:
      description: Observation of the gate.
      type: str
    remedy:
      description: Next step for the partition.
      type: str
failed_partitions:
  description: Partitions that need manual action, with the same keys as RV(deferred). A failed partition
    fails the module.
  returned: when the options are valid
  type: list
  elements: dict
unchanged:
  description: Partitions that were in O(state) already, sorted, at most O(max_listed).
  returned: when the options are valid
  type: list
  elements: dict
  contains: *partition
other_state:
  description: Rows of the plan with a state other than O(state), at most O(max_listed).
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
      description: The state in the plan.
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
            "processes": {"type": "str", "default": "1"},
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
