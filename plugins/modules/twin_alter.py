#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: twin_alter
short_description: Execute one statement on a table, its cold twin and their reading table
version_added: 1.0.0
description:
  - Executes a statement on the table of each shard path, then on its cold twin, and waits until the statement
    has taken effect on every replica of both. No partition moves between the two tables meanwhile.
  - Keeps a record of the statement in the hot ensemble, below O(coordination_root), until both tables are
    done. While the record exists, C(twin_move) defers every partition with the gate C(alter_finished). If the
    module is killed, the next run of the module finishes the recorded statement first, whatever statement it
    is given.
  - A mutation is executed once on each table, also if the module is killed and run again. The module adds a
    condition to the mutation that is always true, and finds the mutation by this condition in
    C(system.mutations).
  - Accepts C(ADD), C(DROP), C(MODIFY), C(RENAME), C(COMMENT), C(CLEAR) and C(MATERIALIZE COLUMN), the same
    for indices, projections, constraints and statistics, C(MODIFY) and C(REMOVE TTL), C(MODIFY ORDER BY) and
    C(SAMPLE BY), C(MODIFY) and C(RESET SETTING), C(MODIFY COMMENT), C(UPDATE), C(DELETE),
    C(APPLY DELETED MASK), C(DROP), C(DETACH) and C(ATTACH PARTITION ID), and
    C(REPLACE PARTITION ID '…' FROM database.table). Other kinds are refused by name.
  - If columns change, the tables of the engine C(Merge) that C(twin_view) has created over the two tables get
    the new columns. A column that is dropped or renamed is dropped from them first, with the columns that
    are computed from it, so that no query reads empty values.
  - C(MODIFY TTL) and C(MATERIALIZE TTL) also change when the ledger of the twin expects parts to expire, so
    that audits do not report expired partitions as lost.
notes:
  - The module refuses to begin while the two tables differ, while a partition is between them, and while
    another statement or mutation changes one of them.
  - If a server refuses the statement for the first table, or a step for the reading table before it, nothing
    has changed and no record stays.
  - Settings and comments belong to each replica, so such statements are executed on each of them.
  - The user of O(clickhouse) needs the privileges of the statement on both tables. If columns change, it also
    needs C(CREATE TABLE), C(DROP TABLE) and C(ALTER COLUMN) on the reading table.
  - If the twin has partitions in its ledger, C(MODIFY TTL) and C(MATERIALIZE TTL) also need C(SELECT) on the
    twin.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles.one
  - olap.partmove.ensembles.lock
  - olap.partmove.twins
  - olap.partmove.twins.records
  - olap.partmove.twins.places
  - olap.partmove.clickhouse_server.replicas
  - olap.partmove.journal
  - olap.partmove.attributes
  - olap.partmove.attributes.action_group
attributes:
  check_mode:
    support: full
    details: Shows the statements. The server parses the statement, and finds no other error in it.
  diff_mode:
    support: full
  idempotent:
    support: none
    details: Each run executes the statement. Use C(IF EXISTS) and C(IF NOT EXISTS) to repeat a run.
options:
  shard_paths:
    description: ZooKeeper paths of the tables in the hot ensemble, such as those of all shards.
    type: list
    elements: str
    required: true
  alter:
    description:
      - Text that follows C(ALTER TABLE <name>), without C(ON CLUSTER), C(SETTINGS) and comments.
      - Without O(alter), O(truncate) and O(rename) the module only finishes the statements of killed runs.
    type: str
  truncate:
    description: Whether to remove all rows of both tables.
    type: bool
    default: false
  rename:
    description:
      - New name of the table, in its database. The twin gets the name of O(twin) for this name.
      - The reading table keeps its name and reads the tables under both names meanwhile.
      - A table that C(table_move) has moved to the auxiliary ensemble is refused.
    type: str
  wait:
    description:
      - How long to wait for a statement to take effect on every replica, in seconds or with a unit such as
        V(30m). Then the module fails, the servers go on, and the next run continues to wait.
    type: str
    default: 1h
seealso:
  - module: olap.partmove.twin_hold
  - module: olap.partmove.twin_move
  - module: olap.partmove.twin_view
"""

EXAMPLES = r"""
- name: Add a column to both tables and to their reading table
  olap.partmove.twin_alter:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    shard_paths: [/clickhouse/tables/01/hits, /clickhouse/tables/02/hits]
    alter: ADD COLUMN IF NOT EXISTS more UInt8 DEFAULT 7
    clickhouse:
      user: admin
      password: "{{ admin_password }}"

- name: Delete the rows of a customer from both tables
  olap.partmove.twin_alter:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    shard_paths: [/clickhouse/tables/01/hits]
    alter: DELETE WHERE customer = 4711
    wait: 6h
    clickhouse:
      user: admin
      password: "{{ admin_password }}"

- name: Finish the statement of a killed run
  olap.partmove.twin_alter:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    shard_paths: [/clickhouse/tables/01/hits]
    clickhouse:
      user: admin
      password: "{{ admin_password }}"
"""

RETURN = r"""
changed:
  description: Whether a statement was executed or finished, or would be in check mode.
  returned: when the options are valid
  type: bool
msg:
  description: The number of statements, or the error and its remedy.
  returned: always
  type: str
  sample: 2 statements executed on 1 shard path
altered:
  description: The shard paths, sorted.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the table.
      type: str
    statements:
      description: The executed statements in their order; in check mode, the statements to execute.
      type: list
      elements: str
    finished:
      description: The statement of an earlier run that this run finished first; empty without one. Of equal
        statements O(alter) is not executed again.
      type: str
failed_shard_paths:
  description: Shard paths on which the statement was refused or is not finished. A failed shard path does not
    stop the others, and fails the module.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the table.
      type: str
    reason:
      description: Why the statement was refused, or what it waits for.
      type: str
    remedy:
      description: Next step.
      type: str
servers:
  description: The queried servers, sorted by name.
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
            "lock_wait": argspec.LOCK_WAIT,
            "clickhouse": argspec.clickhouse(required=True),
            **argspec.TWIN,
            **argspec.TWIN_PLACES,
            "journal": {"type": "path"},
            "shard_paths": {"type": "list", "elements": "str", "required": True},
            "alter": {"type": "str"},
            "truncate": {"type": "bool", "default": False},
            "rename": {"type": "str"},
            "wait": {"type": "str", "default": "1h"},
        },
        mutually_exclusive=[("alter", "truncate", "rename")],
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_alter import TwinAlter

    return TwinAlter(params)


if __name__ == "__main__":
    main()
