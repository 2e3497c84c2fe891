#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: table_move
short_description: Move whole replicated tables to another ensemble under their names
version_added: 1.0.0
description:
  - Moves a whole table between the hot ensemble and an auxiliary ensemble. Works with any ClickHouse with
    C(<auxiliary_zookeepers>), without a patch. At the end the name of the table belongs to a table in the
    ensemble that O(state) selects, on every replica and with all rows. The other table remains without rows
    under the name of the twin.
  - Creates missing twins, as M(olap.partmove.twin_table) does, and moves partitions that are old enough to
    the twin, as M(olap.partmove.twin_move) does. Then the module exchanges the names of both tables with
    C(EXCHANGE TABLES), on one replica after the other. Partitions that came to the old table meanwhile are
    moved afterwards. Each step is completed for all shards of a table before the next step.
  - Finds tables by their paths, so a run can be repeated after any interruption. The next run continues, and
    changes nothing once everything is done. A run with the other O(state) reverses the move from any point.
  - With O(root), moves all tables below a znode one after the other, for example from ZooKeeper to ClickHouse
    Keeper. The shard paths come from the hot ensemble, and the names of the tables from the servers of all
    replicas. A table that is refused does not keep the others from moving.
  - The module checks all replicas of a table before the first statement. Names are exchanged only if every
    replica is active and both tables have the same structure. No ALTER or mutation may be in progress, and no
    partition may be between the tables. Each remaining partition has to be too young or still get inserts.
notes:
  - From the move of the first partition to the move of the last partition, readers of the name miss the rows
    in the other table. A table of the engine C(Merge) over both tables has all rows.
  - Do not exchange or rename the tables meanwhile, and do not insert into the twin.
  - Only tables in databases of the engine C(Atomic) can be exchanged. Other tables are refused before the
    first change. The statement is executed on each replica, never with C(ON CLUSTER).
  - The old table is never dropped. Drop the old table once RV(finished) is true and a reversal is no longer
    needed.
  - Asynchronous inserts that are queued during the exchange fail or end in the other table, so they have to
    pause.
  - The table is refused while a server has a row policy of M(olap.partmove.twin_move) that a killed run has
    left, because the policy would hide rows of the table with the name. Let M(olap.partmove.twin_move) finish
    the move first.
  - The user of O(clickhouse) needs the privileges C(CREATE), C(DROP), C(ALTER), C(SELECT) and C(INSERT) on
    both tables, and C(SYSTEM MERGES) with O(stop_merges=true). The user also has to be allowed to read the
    database C(system).
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles.one
  - olap.partmove.ensembles.lock
  - olap.partmove.twins
  - olap.partmove.twins.places
  - olap.partmove.twins.records
  - olap.partmove.clickhouse_server.replicas
  - olap.partmove.journal
  - olap.partmove.moves
  - olap.partmove.load
  - olap.partmove.load.parts
  - olap.partmove.load.progress
  - olap.partmove.attributes
  - olap.partmove.attributes.action_group
attributes:
  check_mode:
    support: full
  diff_mode:
    support: partial
    details: Shows statements that create twins and exchange names; in check mode also statements that move
      partitions.
  idempotent:
    support: full
options:
  shard_paths:
    description:
      - ZooKeeper paths in the hot ensemble, one for each shard, C(zookeeper_path) in C(system.replicas). Give
        the same paths after the exchange.
      - Either O(shard_paths) or O(root) is required.
    type: list
    elements: str
  root:
    description:
      - A znode in the hot ensemble, such as V(/clickhouse/tables), or V(/) for all. All replicated tables at
        or below it are moved, one after the other. Shard paths whose tables have the same database and name
        are shards of one table.
      - Tables whose names are exchanged on some replicas only come first, then small tables before large
        ones. Tables that are finished take no step.
      - The run is refused before the first change if no server of a shard path answers, because it could be a
        shard of any table.
      - The module fails at its end if a table was refused, see RV(outcomes).
    type: str
  exclude:
    description:
      - With O(root), patterns of tables to leave out, with V(*), V(?) and V([]), such as V(logs.*) for
        database and name, or V(/clickhouse/tables/*/hits) for shard paths. Exclude all shards of a table.
      - The servers of excluded shard paths are not queried for them.
    type: list
    elements: str
    default: []
  stop_at_refusal:
    description: With O(root), whether to end the run after the first table that is refused during its move.
    type: bool
    default: false
  partitions_per_second:
    description:
      - With O(root), the speed for RV(estimate) until this run has moved 50 partitions. The time does not
        depend on the size of partitions, as parts are hard links.
      - The default was measured with partitions of three parts on two replicas of one machine.
    type: float
    default: 25
  report:
    description: With O(root), the path of a file for a report in Markdown, which each run replaces. Check
      mode writes no file.
    type: path
  path:
    description: Path of the table in the auxiliary ensemble; C({path}) stands for the path in the hot
      ensemble.
  state:
    description:
      - Ensemble of the table that is to have the name, V(cold) for O(ensemble) and V(hot) for O(hot).
      - For V(hot) give O(ensemble), O(path) and O(twin) as in the move. A table without a twin there is
        finished if it never left, and refused if anything says that it left.
    type: str
    choices: [cold, hot]
    default: cold
  min_age:
    description:
      - Minimum age of the newest part of a partition on every replica, in seconds or with a unit, such as
        V(36h) or V(7d). Younger partitions are moved after the exchange.
    type: str
    default: 1d
  stop_merges:
    description:
      - Whether to stop merges and mutations of both tables while a partition is in both tables, as
        M(olap.partmove.twin_move) does.
      - For tables with constant inserts.
    type: bool
    default: false
  insert_wait:
    description:
      - How long to wait, after the names were exchanged, for inserts that began before, in seconds or with a
        unit, such as V(10m). Their rows arrive in the other table. The time is for all shards of a table
        together.
      - When the time is over, the run moves what has arrived, and RV(finished) is false. Run again.
    type: str
    default: 1m
seealso:
  - module: olap.partmove.twin_table
  - module: olap.partmove.twin_move
"""

EXAMPLES = r"""
- name: Move a table of two shards to the ensemble "cold"
  olap.partmove.table_move:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    shard_paths: [/clickhouse/tables/01/hits, /clickhouse/tables/02/hits]
    clickhouse:
      user: admin
      password: "{{ admin_password }}"

- name: Move the table back to the hot ensemble
  olap.partmove.table_move:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    shard_paths: [/clickhouse/tables/01/hits, /clickhouse/tables/02/hits]
    state: hot
    clickhouse:
      user: admin
      password: "{{ admin_password }}"

- name: Show the plan for all tables of a ZooKeeper ensemble, which move to ClickHouse Keeper
  olap.partmove.table_move:
    hot:
      hosts: [zk1:2181, zk2:2181, zk3:2181]
    root: /clickhouse/tables
    exclude: [staging.*]
    ensemble: keeper
    clickhouse:
      user: admin
      password: "{{ admin_password }}"
  check_mode: true
  diff: true
  register: plan
"""

RETURN = r"""
changed:
  description: Whether a statement was executed, or would be executed in check mode.
  returned: when the options are valid
  type: bool
msg:
  description: The result in a sentence, or the error and its remedy.
  returned: always
  type: str
  sample: "db.hits: 4 replicas exchanged; 31 moved, 0 deferred, 0 failed, 0 unchanged"
twins:
  description: Created twins, in check mode twins to create, as M(olap.partmove.twin_table) returns them. At
    most O(max_listed).
  returned: when the options are valid
  type: list
  elements: dict
exchanged:
  description: Replicas with exchanged names; in check mode, replicas to exchange. At most O(max_listed).
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: Path of the table in the hot ensemble.
      type: str
    table:
      description: Database and name.
      type: str
    replica:
      description: The replica.
      type: str
    server:
      description: Its server.
      type: str
    statement:
      description: The statement.
      type: str
tables:
  description: Final state of each replica, at most O(max_listed). Tables that O(root) found finished are not
    listed.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: Path of the table in the hot ensemble.
      type: str
    table:
      description: Database and name.
      type: str
    replica:
      description: The replica.
      type: str
    server:
      description: Its server.
      type: str
    rows:
      description: Rows of the table with the name.
      type: int
    parts:
      description: Active parts of the table with the name.
      type: int
    digest:
      description: Digest of the names, rows and hashes of these parts. Replicas with the same parts have the
        same digest.
      type: str
    left_rows:
      description: Rows in the other table.
      type: int
    left_parts:
      description: Active parts of the other table.
      type: int
    rows_before:
      description: Rows of both tables before this run exchanged the names; null without an exchange in this
        run.
      type: int
    older_inserts:
      description: Number of inserts that began before the exchange and may not have ended. Their rows may
        arrive in the other table, and the next run moves these rows. Null if the names are not exchanged on
        every replica, as in check mode.
      type: int
    older:
      description: These inserts, at most O(max_listed). A statement is listed unless it is proven that it
        inserts nothing. Asynchronous inserts, Buffer tables and consumers are listed too.
      type: list
      elements: str
finished:
  description: Whether every table has its name in the desired ensemble, and no row is in the other table or
    can still arrive there. Only then the other table may be dropped. With O(root) false also if a table is
    refused or a path is unknown.
  returned: when the options are valid
  type: bool
differing:
  description: One sentence for each shard path whose replicas have different parts at the end. Inserts and
    merges cause such differences all the time, so a table can be finished nevertheless.
  returned: when the options are valid
  type: list
  elements: str
counts:
  description: Number of partitions by outcome, as M(olap.partmove.twin_move) returns them.
  returned: when the options are valid
  type: dict
gates:
  description: Each gate that keeps partitions in the other table, sorted by name.
  returned: when the options are valid
  type: list
  elements: dict
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
moved:
  description: Partitions that were moved, sorted, with O(root) by table; at most O(max_listed).
  returned: when the options are valid
  type: list
  elements: dict
deferred:
  description: Partitions that remain in the other table, with gate, reason and remedy. Run again.
  returned: when the options are valid
  type: list
  elements: dict
failed_partitions:
  description: Partitions that need manual action, with the same keys. A failed partition fails the module.
  returned: when the options are valid
  type: list
  elements: dict
left_behind:
  description: Moved partitions that got new parts during the move. The new parts stayed in the first table.
    Run again.
  returned: when the options are valid
  type: list
  elements: dict
forgotten_inserts:
  description: Partitions whose last INSERTs the table recognised as repeated before their move to the twin,
    and does not any more, as M(olap.partmove.twin_move) returns them.
  returned: when the options are valid
  type: list
  elements: dict
hot_znodes:
  description: Znodes that the hot ensemble has of each shard path after its moves, as
    M(olap.partmove.twin_move) returns them.
  returned: when the options are valid
  type: list
  elements: dict
outcomes:
  description: The tables in the order of the run; in check mode the plan.
  returned: with O(root), once all tables are known
  type: list
  elements: dict
  contains:
    table:
      description: Database and name.
      type: str
    state:
      description: V(finished); V(left) if the next run has to continue; V(refused) if somebody has to act
        first; V(open) if the run did not reach the table, as in check mode.
      type: str
    gate:
      description: Name of the gate that refuses the table, or that defers its first partition; empty without
        one.
      type: str
    reason:
      description: Why the table is not finished; empty if it is finished or open.
      type: str
    remedy:
      description: What to do.
      type: str
    shard_paths:
      description: Paths of all shards in the hot ensemble.
      type: list
      elements: str
    replicas:
      description: Number of replicas of all shards.
      type: int
    partitions:
      description: Partitions to move when the run began, of all shards; 0 for a finished table.
      type: int
    parts:
      description: Active parts of these partitions, each counted once for all replicas.
      type: int
    rows:
      description: Rows of these parts.
      type: int
    bytes:
      description: Bytes of these parts on disk, which no step copies.
      type: int
    steps:
      description: Steps that were left when the run began, in their order.
      type: list
      elements: str
    estimated_seconds:
      description: Expected duration by O(partitions_per_second).
      type: float
    seconds:
      description: Duration in this run; null if the run did not reach the table.
      type: float
    moved:
      description: Partitions that this run moved; in check mode, partitions that the run would move before
        the exchange. A table without twins has none in check mode.
      type: int
    hot_znodes:
      description: Znodes of parts, block numbers and blocks that the hot ensemble has of the table after the
        run. Dropping the old table removes them.
      type: int
unknown_paths:
  description: Shard paths that no queried server has as a table. RV(finished) is false until each is gone or
    in O(exclude).
  returned: with O(root)
  type: list
  elements: dict
  contains:
    shard_path:
      description: Path in the hot ensemble.
      type: str
    reason:
      description: What a server of the path shows.
      type: str
    remedy:
      description: What to do.
      type: str
excluded:
  description: Shard paths and tables that O(exclude) left out.
  returned: with O(root)
  type: list
  elements: str
estimate:
  description: The tables that are open or left, and the time they need without waits for older inserts and
    for the load of the ensemble.
  returned: with O(root)
  type: dict
  contains:
    tables:
      description: Number of tables.
      type: int
    partitions:
      description: Partitions to move.
      type: int
    partitions_per_second:
      description: Speed of this run, or O(partitions_per_second) if the run moved fewer than 50 partitions.
      type: float
    seconds:
      description: Expected duration.
      type: float
drops:
  description: Statements that drop the old tables of all finished tables, with O(state=cold). The module
    never executes them. Check first that the old table has no rows, and nothing in its folder C(detached/),
    because DROP deletes both. A dropped table cannot be brought back to the hot ensemble without creating it
    again.
  returned: with O(root)
  type: list
  elements: dict
  contains:
    table:
      description: Database and name of the moved table.
      type: str
    shard_path:
      description: Path of the old table in the hot ensemble.
      type: str
    replica:
      description: The replica.
      type: str
    server:
      description: The server that has to execute the statement.
      type: str
    statement:
      description: The statement.
      type: str
next:
  description: What to do after this run, in a sentence.
  returned: with O(root)
  type: str
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
            "shard_paths": {"type": "list", "elements": "str"},
            "root": {"type": "str"},
            "exclude": {"type": "list", "elements": "str", "default": []},
            "stop_at_refusal": {"type": "bool", "default": False},
            "partitions_per_second": {"type": "float", "default": 25},
            "report": {"type": "path"},
            **argspec.TWIN,
            **argspec.TWIN_PLACES,
            "state": {"type": "str", "choices": ["cold", "hot"], "default": "cold"},
            "min_age": {"type": "str", "default": "1d"},
            "journal": {"type": "path"},
            "lock_wait": argspec.LOCK_WAIT,
            "stop_merges": {"type": "bool", "default": False},
            "insert_wait": {"type": "str", "default": "1m"},
            **argspec.MAX_LISTED,
            **argspec.LOAD,
            **argspec.PARTS_PER_SECOND,
        },
        required_one_of=[("shard_paths", "root")],
        mutually_exclusive=[("shard_paths", "root")],
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    if params["root"] is not None:
        from ansible_collections.olap.partmove.plugins.module_utils._tasks.root_move import RootMove

        return RootMove(params)
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.table_move import TableMove

    return TableMove(params)


if __name__ == "__main__":
    main()
