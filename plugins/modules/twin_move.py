#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: twin_move
short_description: Move partitions between a table and its twin in an auxiliary ensemble
version_added: 0.1.0
description:
  - For any ClickHouse with C(<auxiliary_zookeepers>), without a patch. Beside a replicated table there is a
    cold twin on every replica, a table of the same structure whose path is in an auxiliary ensemble. Where a
    partition is, there it is registered. A reader has both by a table of the engine C(Merge).
  - A partition is cloned into the other table with C(ALTER TABLE … ATTACH PARTITION ID … FROM), which makes
    hard links and copies no data. Once every replica was seen to have every clone, the parts that were cloned
    are dropped from where they were by their names, with C(DROP PART). A part that was inserted meanwhile is
    not dropped, and is told in RV(left_behind).
  - What a run has to remember of a partition is in a record in the hot ensemble, below O(coordination_root).
    No znode of a table is written. Whatever ends a run, nothing is lost, and running again goes on where it
    ended, in the direction of the record.
  - Each partition has to pass gates. One that does not is deferred and told with the gate and the way out,
    which is no failure of the module.
  - Partitions of any number of parts can be moved, and are merged and mutated in either table as ever.
notes:
  - Between the ATTACH and the last DROP PART readers of both tables see rows of the partition twice, for as
    long as RV(moved[].seen_twice_seconds) tells.
  - Nothing may insert into the twin, and nothing else may ATTACH, DROP or REPLACE the partition in either
    table, nor EXCHANGE the tables, while the module works on it.
  - The user of O(clickhouse) has to be allowed to C(ALTER TABLE) both tables and to C(SELECT) and C(INSERT),
    and with O(stop_merges=true) to C(SYSTEM MERGES).
  - In check mode the gates are looked at and no statement is given. In diff mode these are shown then.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles.one
  - olap.partmove.ensembles.lock
  - olap.partmove.twins
  - olap.partmove.twins.records
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
    support: partial
    details: In check mode only.
  idempotent:
    support: full
options:
  state:
    description:
      - Which of the two tables the partitions are to be in. V(COLD) and V(HOT) mean V(cold) and V(hot).
    type: str
    choices: [cold, hot, COLD, HOT]
    default: cold
  shard_paths:
    description: ZooKeeper paths of hot tables, in place of a plan file. All partitions are moved.
    type: list
    elements: str
  min_age:
    description:
      - How old the newest part of a partition must be on every replica, as seconds or with a unit, such as
        V(36h) or V(7d). Not used with O(state=hot).
    type: str
    default: 1d
  stop_merges:
    description:
      - Whether to stop merges and mutations of both tables on every replica, with C(SYSTEM STOP MERGES),
        from before a partition is cloned until it is in one table again.
      - It is for partitions that are merged all the time, which otherwise have to be tried again, or fail by
        the gate C(twin_known). Merges of all partitions of the two tables wait meanwhile, and those under way
        begin again.
      - A run that is killed leaves them stopped. The next run over the shard path, whatever it is asked for,
        starts them again before anything else, and a server that restarts forgets it.
      - Merges that somebody else has stopped go on, too, as nobody can see who stopped them.
    type: bool
    default: false
  checksums:
    description:
      - Whether to read all rows of what is moved as well, from both tables on every replica, and to compare
        their checksums. Otherwise rows and hashes of files are compared as C(system.parts) has them.
      - It finds what a disk has lost since. It reads each partition twice on each replica, once of these
        while rows are there twice. Raise O(clickhouse.timeout) for large partitions.
      - Rows that a row policy hides from the user of O(clickhouse), or a lightweight C(DELETE) from
        everybody, are not in the checksums.
    type: bool
    default: false
  workers:
    description:
      - How many shard paths to work on at the same time, up to 64, each under its own lock. The partitions of
        a shard path go one after the other.
      - With 0 it is as many as there are shard paths, up to 16.
    type: int
    default: 0
  max_latency:
    description:
      - Seconds that the hot ensemble may take to answer. When it takes longer, and five times as long as when
        the module began, the module pauses until it takes half of that again. It also pauses while more than
        500 requests wait at a member, and while a member has fallen behind the others, where members tell so
        by the four-letter word C(srvr).
      - It waits between partitions only, while none is in both tables. The auxiliary ensemble is not watched,
        as only the servers have sessions with it.
      - With V(0) it never pauses.
seealso:
  - module: olap.partmove.part_move
  - module: olap.partmove.journal_info
"""

EXAMPLES = r"""
- name: See what a plan would move, and what not and why
  olap.partmove.twin_move:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    plan: /var/lib/partmove/plan.jsonl
    clickhouse:
      user: admin
      password: "{{ admin_password }}"
  check_mode: true
  diff: true

- name: Move one month of one shard
  olap.partmove.twin_move:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    partitions:
      - shard_path: /clickhouse/tables/01/hits
        partition: "201912"
    min_age: 30d
    clickhouse:
      user: admin
      password: "{{ admin_password }}"

- name: Bring all of a table back
  olap.partmove.twin_move:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    state: hot
    shard_paths: [/clickhouse/tables/01/hits]
    clickhouse:
      user: admin
      password: "{{ admin_password }}"
"""

RETURN = r"""
changed:
  description: Whether a statement was given, or would be in check mode.
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
    deferred:
      description: Partitions that a gate kept back. A record stays of those that are between the tables.
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
      description: Partitions that nothing was done about because the run ended early.
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
totals:
  description: What went over, on each replica, or would in check mode.
  returned: when the options could be used
  type: dict
  contains:
    parts:
      description: Parts.
      type: int
    rows:
      description: Rows.
      type: int
    bytes:
      description: Bytes on disk.
      type: int
    seconds:
      description: How long the run took.
      type: float
    seen_twice_seconds_most:
      description: The longest time that rows of one partition were seen twice.
      type: float
moved:
  description: Partitions that were moved, sorted by shard path and partition, at most O(max_listed) of them.
  returned: when the options could be used
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the hot table.
      type: str
    partition:
      description: Id of the partition.
      type: str
    parts:
      description: Parts that went over, on each replica.
      type: int
    rows:
      description: Rows of these.
      type: int
    bytes:
      description: Bytes on disk of these.
      type: int
    seen_twice_seconds:
      description: For how long rows of it were seen twice; null where an earlier run had begun.
      type: float
left_behind:
  description: Moved partitions of which the table has got parts meanwhile, which stayed there.
  returned: when the options could be used
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the hot table.
      type: str
    partition:
      description: Id of the partition.
      type: str
    parts:
      description: Names of these parts.
      type: list
      elements: str
deferred:
  description: Partitions that a gate kept back, sorted, at most O(max_listed) of them.
  returned: when the options could be used
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the hot table.
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
other_state:
  description: Rows of the plan that want another state than O(state), at most O(max_listed) of them.
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
            "coordination_root": argspec.COORDINATION_ROOT,
            "clickhouse": argspec.clickhouse(required=True),
            **argspec.TWIN,
            **argspec.MOVES,
            "stop_merges": {"type": "bool", "default": False},
            "checksums": {"type": "bool", "default": False},
        },
        mutually_exclusive=[("plan", "partitions", "shard_paths")],
        required_one_of=[("plan", "partitions", "shard_paths")],
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_move import TwinMove

    return TwinMove(params)


if __name__ == "__main__":
    main()
