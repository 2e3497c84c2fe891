#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: twin_move
short_description: Move partitions between a table and its cold twin by SQL, in either direction
version_added: 0.1.0
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
  - From the ATTACH to the last DROP PART readers of both tables see rows of the partition twice.
    RV(moved[].seen_twice_seconds) has the duration.
  - Do not insert into the twin while the module works on a partition. Do not ATTACH, DROP or REPLACE this
    partition in either table, and do not EXCHANGE the tables.
  - The user of O(clickhouse) needs the privileges C(ALTER TABLE), C(SELECT) and C(INSERT) on both tables, and
    C(SYSTEM MERGES) with O(stop_merges=true).
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
        row policy hides some of its rows from the user of O(clickhouse).
    type: bool
    default: false
  workers:
    description:
      - Number of shard paths to work on at the same time, up to 64, each under its own lock. The partitions
        of a shard path are moved one after the other.
      - With 0 the number is the number of shard paths, up to 16.
    type: int
    default: 0
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
