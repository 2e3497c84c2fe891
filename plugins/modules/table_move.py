#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: table_move
short_description: Move a whole replicated table to another ensemble under its name
version_added: 0.1.0
description:
  - For any ClickHouse with C(<auxiliary_zookeepers>), without a patch. In the end the name of the table is
    that of a table in the wanted ensemble, on every replica, and all rows are there. The other table is left,
    without rows, under the name of the twin.
  - Each replica is given a twin where it has none, as by M(olap.partmove.twin_table). Partitions that are old
    enough are moved to it as by M(olap.partmove.twin_move). Then the names of the two are exchanged,
    with C(EXCHANGE TABLES), on one replica after the other. Whatever came to the old table meanwhile is moved
    after that. Each step is done for all O(shard_paths) before the next one.
  - Tables are found by their places, so the module knows what was done, whatever ended a run. Running it
    again goes on, and does nothing once all is done. Running it with the other O(state) goes back from
    anywhere.
  - All replicas of all tables are looked at before anything is done. Names are exchanged only while every
    replica is active, the two tables are alike, no ALTER or mutation is under way, no partition is between
    the two, and each partition that stayed did so because it is too young or gets inserts.
notes:
  - Readers of the name miss the rows of partitions that are in the other table, from the move of the first
    partition until the last one has come. A table of the engine C(Merge) over both has them all.
  - Nobody else may exchange or rename the tables meanwhile, nor insert into the twin.
  - Only tables in databases of the engine C(Atomic) can be exchanged so; others are refused before anything
    is done. The statement is given to each replica, never C(ON CLUSTER).
  - The old table is never dropped. Drop it once RV(tables[].left_parts) and RV(tables[].older_inserts) are 0
    on every replica and there is no need to go back.
  - The user of O(clickhouse) has to be allowed to C(CREATE), C(DROP), C(ALTER), C(SELECT) and C(INSERT) both
    tables, with O(stop_merges=true) to C(SYSTEM MERGES), and to read the database C(system).
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
    details: Statements that create twins and exchange names; in check mode those that move partitions, too.
  idempotent:
    support: full
options:
  shard_paths:
    description:
      - ZooKeeper paths in the hot ensemble, one of each shard, as C(system.replicas) has them in
        C(zookeeper_path). They stay those of the hot ensemble after the exchange.
    type: list
    elements: str
    required: true
  path:
    description: Path of the table in that ensemble; C({path}) stands for the path in the hot one.
  state:
    description:
      - In which ensemble the table with the name is to be, V(cold) for O(ensemble) and V(hot) for O(hot).
    type: str
    choices: [cold, hot]
    default: cold
  min_age:
    description:
      - How old the newest part of a partition must be on every replica to be moved before the exchange, as
        seconds or with a unit, such as V(36h) or V(7d). Younger ones are moved after it.
    type: str
    default: 1d
  stop_merges:
    description:
      - Whether to stop merges and mutations of both tables while a partition is in both of them, as
        M(olap.partmove.twin_move) does.
      - It is for tables that get inserts all the time.
    type: bool
    default: false
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

- name: And back
  olap.partmove.table_move:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    shard_paths: [/clickhouse/tables/01/hits, /clickhouse/tables/02/hits]
    state: hot
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
  description: What was done in a sentence, or what is wrong and the way out.
  returned: always
  type: str
  sample: "db.hits: 4 replicas exchanged; 31 moved, 0 deferred, 0 failed, 0 unchanged"
twins:
  description: The twins that were created, or would be in check mode, as M(olap.partmove.twin_table) returns
    them.
  returned: when the options could be used
  type: list
  elements: dict
exchanged:
  description: The replicas that exchanged the names, or would in check mode.
  returned: when the options could be used
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
  description: What each replica has in the end.
  returned: when the options could be used
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
      description: Its active parts.
      type: int
    digest:
      description: Of the names, rows and hashes of these, the same on replicas that have the same parts.
      type: str
    left_rows:
      description: Rows in the other table.
      type: int
    left_parts:
      description: Active parts of the other table.
      type: int
    rows_before:
      description: Rows of both tables before this run exchanged the names; null where it did not.
      type: int
    older_inserts:
      description: Inserts that began before the exchange and still go on. Their rows may come to the other
        table, from where the next run moves them.
      type: int
differing:
  description: Where replicas did not have the same parts in the end, one sentence for each shard path. That
    is so while rows are being inserted.
  returned: when the options could be used
  type: list
  elements: str
counts:
  description: How many partitions there are of each kind, as M(olap.partmove.twin_move) returns them.
  returned: when the options could be used
  type: dict
gates:
  description: Each gate that keeps partitions in the other table, sorted by name.
  returned: when the options could be used
  type: list
  elements: dict
totals:
  description: What went over, on each replica, or would in check mode.
  returned: when the options could be used
  type: dict
moved:
  description: Partitions that were moved, sorted, at most O(max_listed) of them.
  returned: when the options could be used
  type: list
  elements: dict
deferred:
  description: Partitions that are left in the other table, with gate, reason and way out. Run again.
  returned: when the options could be used
  type: list
  elements: dict
failed_partitions:
  description: Partitions that a person has to look at, with the same keys. The module fails when there is
    one.
  returned: when the options could be used
  type: list
  elements: dict
left_behind:
  description: Moved partitions that have got parts meanwhile, which stayed. Run again.
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
            "shard_paths": {"type": "list", "elements": "str", "required": True},
            **argspec.TWIN,
            **argspec.TWIN_PLACES,
            "state": {"type": "str", "choices": ["cold", "hot"], "default": "cold"},
            "min_age": {"type": "str", "default": "1d"},
            "journal": {"type": "path"},
            "lock_wait": argspec.LOCK_WAIT,
            "stop_merges": {"type": "bool", "default": False},
            **argspec.MAX_LISTED,
            **argspec.LOAD,
            **argspec.PARTS_PER_SECOND,
        },
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.table_move import TableMove

    return TableMove(params)


if __name__ == "__main__":
    main()
