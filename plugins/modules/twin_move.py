#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: twin_move
short_description: Move partitions between a table and its cold twin by SQL, in either direction
version_added: 1.0.0
description:
  - Moves partitions between a table and its cold twin. The cold twin is a second table of the same structure
    on each replica, whose ZooKeeper path is in an auxiliary ensemble. The znodes of a partition are in the
    ensemble of the table that has the partition. Readers read both tables through a table of the engine
    C(Merge).
  - Works with any ClickHouse with C(<auxiliary_zookeepers>), without a patch.
  - Clones a partition into the other table with C(ALTER TABLE … ATTACH PARTITION ID … FROM), which creates
    hard links and copies no data. Once every replica has every clone, the module drops the cloned parts from
    the first table by name, with C(DROP PART). A part that was inserted meanwhile is not dropped, and is
    listed in RV(left_behind).
  - Keeps a record of each partition between the tables in the hot ensemble, below O(coordination_root). No
    znode of a table is written. However a run ends, no data is lost, and the next run continues in the
    direction of the record.
  - Each partition has to pass gates. A partition that fails a gate is deferred and returned with the gate and
    the remedy. Deferred partitions do not fail the module.
  - A partition may have any number of parts. In either table its parts are merged and mutated as usual.
notes:
  - From the ATTACH to the last DROP PART both tables have the rows of the partition.
    RV(moved[].seen_twice_seconds) has the duration. O(readers) says who sees the rows twice.
  - Do not insert into the twin while the module works on a partition. Do not ATTACH, DROP or REPLACE this
    partition in either table, and do not EXCHANGE the tables.
  - The user of O(clickhouse) needs the privileges C(ALTER TABLE), C(SELECT) and C(INSERT) on both tables, and
    C(SYSTEM MERGES) with O(stop_merges=true). Row policies need C(CREATE ROW POLICY), C(ALTER ROW POLICY),
    C(DROP ROW POLICY) and C(SELECT) on the reading table, C(SELECT) on the database system, and C(SHOW) on
    C(*.*).
  - Check mode evaluates the gates and executes no statement. Diff mode then shows the statements of a run.
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
      - Table that is to have the partitions, the hot table or its cold twin. V(COLD) and V(HOT), the spelling
        in plans, mean V(cold) and V(hot).
    type: str
    choices: [cold, hot, COLD, HOT]
    default: cold
  shard_paths:
    description: ZooKeeper paths of hot tables, instead of a plan file. All their partitions are moved.
    type: list
    elements: str
  min_age:
    description:
      - Minimum age of the newest part of a partition on every replica, in seconds or with a unit, such as
        V(36h) or V(7d). Ignored with O(state=hot).
    type: str
    default: 1d
  stop_merges:
    description:
      - Whether to stop merges and mutations of both tables on every replica with C(SYSTEM STOP MERGES), while
        a partition is in both tables.
      - For partitions with constant merges, which otherwise need retries or fail by the gate C(twin_known).
        Merges of all partitions of both tables wait meanwhile, and running merges start again.
      - A killed run leaves merges stopped. The next run over the shard path, with any options, starts merges
        again first. A restart of a server also starts its merges.
      - Merges that another user has stopped are started as well, because the server does not show who stopped
        them.
    type: bool
    default: false
  checksums:
    description:
      - Whether to compare checksums over all rows of each moved partition, read from both tables on every
        replica. Otherwise the module compares rows and file hashes from C(system.parts).
      - Checksums detect data that a disk has lost since the insert. Each replica reads each partition twice,
        once of these while both tables have the rows. Raise O(clickhouse.timeout) for large partitions.
      - The checksums cover rows that a lightweight C(DELETE) has marked. A partition stays where it is if a
        row policy hides some of its rows from the user of O(clickhouse), or if the table has a column with
        the name of a virtual column, such as C(_part), which queries would read instead.
    type: bool
    default: false
  readers:
    description:
      - What readers of a reading table, of the engine C(Merge), see while partitions are in both tables.
      - With V(auto), a row policy on each reading table hides the second copy of moving rows, wherever the
        servers and the rights of the user allow this. Otherwise readers see these rows twice, and RV(readers)
        has the reason.
      - With V(policy), the gate C(readers_ready) defers partitions where row policies cannot be used.
      - With V(none), the module changes no row policies, but removes those that a killed run has left.
      - The policies exist only while partitions are moved. Queries of both tables by other means, such as
        C(UNION ALL) or the table function C(merge), see rows twice.
    type: str
    choices: [auto, policy, none]
    default: auto
  readers_wait:
    description:
      - How long to wait for queries, dictionaries and mutations that began before a row policy was changed,
        in seconds or with a unit, such as V(5m). The module waits twice for each group of partitions, before
        the C(ATTACH) and before the first C(DROP PART), on every replica.
      - If readers take longer, the partitions are deferred by the gate C(readers_done). Before the C(ATTACH)
        nothing was changed then. Later the partitions keep their records, readers of the reading table see
        each row once, and the next run continues.
    type: str
    default: 1m
  workers:
    description:
      - Number of shard paths to work on at the same time, up to 64, each under its own lock. The partitions
        of a shard path are moved in groups of up to 50.
      - With 0 the number is the number of shard paths, up to 16.
      - At the same server fewer shard paths may be moved, see O(latency_target).
    type: int
    default: 0
  latency_target:
    description:
      - Seconds that the module may add to the latency of the hot ensemble, and to that of each ClickHouse
        server. The module measures both all the time.
      - For the hot ensemble it adapts how many operations its requests have, and how many of them are in
        flight. For each server it adapts how many shard paths use it at the same time, at least one.
      - With V(0) the module runs at full speed.
  max_latency:
    description:
      - Latency limit of the hot ensemble in seconds. The module pauses if the latency exceeds both this limit
        and five times the latency at the start. The pause ends when the latency falls to half of the higher
        value. The module also pauses while more than 500 requests wait at a member, or a member lags behind
        the others. Members report these values by the four-letter word C(srvr).
      - Pauses happen between partitions only, when no partition is in both tables. The auxiliary ensemble is
        not watched, because only the servers have sessions with it.
      - With V(0) the module never pauses.
seealso:
  - module: olap.partmove.part_move
  - module: olap.partmove.journal_info
"""

EXAMPLES = r"""
- name: Show which partitions a plan would move, and why others are deferred
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

- name: Bring back all partitions of a table
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
  description: Whether a statement was executed, or would be executed in check mode.
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
    deferred:
      description: Partitions that a gate deferred. A partition between the tables keeps its record.
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
      description: Partitions that the run did not process because the run ended early.
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
  description: Moved parts and rows on each replica; in check mode, parts and rows to move.
  returned: when the options are valid
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
      description: Duration of the run.
      type: float
    seen_twice_seconds_most:
      description: The longest time for which rows of one partition were in both tables.
      type: float
moved:
  description: Partitions that were moved, sorted by shard path and partition, at most O(max_listed).
  returned: when the options are valid
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
      description: Number of moved parts on each replica.
      type: int
    rows:
      description: Number of moved rows on each replica.
      type: int
    bytes:
      description: Size of the moved parts on disk.
      type: int
    seen_twice_seconds:
      description: Time for which readers of both tables saw rows of the partition twice; null if an earlier
        run started the move.
      type: float
left_behind:
  description: Moved partitions that got new parts during the move. The new parts stayed in the first table.
  returned: when the options are valid
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
      description: Names of the new parts.
      type: list
      elements: str
forgotten_inserts:
  description: Partitions moved to the twin whose last INSERTs the hot table recognised as repeated, and does
    not any more. A client that repeats one of them inserts its rows again. At most O(max_listed).
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the hot table.
      type: str
    partition:
      description: Id of the partition.
      type: str
    inserts:
      description: Number of INSERTs, or of blocks of large ones, that the table recognised before the move.
      type: int
finished:
  description: Partitions that earlier runs left between the tables, and that this run finished without being
    asked for them. Every run first finishes all records of its shard paths. At most O(max_listed).
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the hot table.
      type: str
    partition:
      description: Id of the partition.
      type: str
    state:
      description: The state that the earlier run was given, V(COLD) or V(HOT).
      type: str
    undone:
      description: Whether the clones were dropped, so that the partition stayed where it was.
      type: bool
unfinished:
  description: Partitions that earlier runs left between the tables, and that this run was not asked for and
    could not finish, with the same keys as RV(deferred). At most O(max_listed).
  returned: when the options are valid
  type: list
  elements: dict
deferred:
  description: Partitions that a gate deferred, sorted, at most O(max_listed).
  returned: when the options are valid
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
other_state:
  description: Rows of the plan with a state other than O(state), at most O(max_listed).
  returned: when the options are valid
  type: list
  elements: dict
readers:
  description: What readers of reading tables saw, for each shard path with such a table, at most
    O(max_listed).
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the hot table.
      type: str
    tables:
      description: Reading tables with a row policy, whose readers saw each row once.
      type: list
      elements: str
    reason:
      description: Why readers of reading tables saw moving rows twice; empty if they did not.
      type: str
    left:
      description: Why a row policy may be left after the moves; empty if none is. A policy also stays, by
        intention, for partitions that keep their records.
      type: str
hot_znodes:
  description: Znodes that the hot ensemble has of each shard path after its moves, at most O(max_listed). Not
    listed without a move, and in check mode.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the hot table.
      type: str
    parts:
      description: Znodes below C(parts) of all replicas, without columns and checksums of legacy headers.
      type: int
    block_numbers:
      description: Znodes below C(block_numbers), one for each partition that the table ever had. The znodes
        of moved partitions stay, because without them a finished mutation would change rows inserted later.
      type: int
    blocks:
      description: Znodes below C(blocks), one for each insert that the table would recognise as repeated.
      type: int
servers:
  description: The queried servers, sorted by name. Servers before ClickHouse 21.1 are refused, because their
    tables cannot be in an auxiliary ensemble.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    server:
      description: The server.
      type: str
    version:
      description: Its version.
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
            "coordination_root": argspec.COORDINATION_ROOT,
            "clickhouse": argspec.clickhouse(required=True),
            **argspec.TWIN,
            **argspec.MOVES,
            "stop_merges": {"type": "bool", "default": False},
            "checksums": {"type": "bool", "default": False},
            "readers": {"type": "str", "choices": ["auto", "policy", "none"], "default": "auto"},
            "readers_wait": {"type": "str", "default": "1m"},
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
