#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: twin_view
short_description: Create one name for a table and its cold twin on every replica, for readers
version_added: 1.0.0
description:
  - Creates on each replica a table of the engine C(Merge) that reads a table and its twin, with the columns
    of the table. This reading table has no rows of its own. If its columns or its tables differ, for example
    after an C(ALTER), the module replaces the reading table. Diff mode shows the statements.
  - With O(in_front) the reading table gets the former name of the table, so that queries need no change. The
    table gets a new name, which inserts have to use from then on. The module exchanges the names with
    C(EXCHANGE TABLES), while no partition is between the two tables.
  - The module checks all replicas before the first statement. If a replica cannot be queried, or has a
    different table with the name, the module fails and changes nothing.
notes:
  - A Merge table accepts no inserts, mutations or C(OPTIMIZE). C(FINAL) applies to each of the two tables
    separately.
  - O(in_front) needs a database of the engine C(Atomic), and a twin named after the new name of the table.
    With the defaults, O(in_front) renames C(hits) to C(hits_hot), whose twin has to be C(hits_hot_cold).
    Create this twin by M(olap.partmove.twin_table) with C(twin={table}_hot_cold).
  - Moves of partitions work as before, because M(olap.partmove.twin_move) finds the table by its path.
  - The user of O(clickhouse) needs the privileges C(CREATE) and C(DROP) for tables, and has to be allowed to
    read the database C(system).
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles.one
  - olap.partmove.ensembles.lock
  - olap.partmove.twins
  - olap.partmove.twins.places
  - olap.partmove.twins.records
  - olap.partmove.clickhouse_server.replicas
  - olap.partmove.attributes
  - olap.partmove.attributes.action_group
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details: Shows the statements.
  idempotent:
    support: full
options:
  shard_paths:
    description: ZooKeeper paths of the hot tables, C(zookeeper_path) in C(system.replicas).
    type: list
    elements: str
    required: true
  in_front:
    description: Whether the reading table gets the current name of the table. Otherwise the reading table
      gets a new name.
    type: bool
    default: false
  name:
    description:
      - Name of the reading table; C({table}) stands for the name of the table.
      - With O(in_front) the new name of the table; C({table}) stands for its former name.
      - The default is C({table}_all), and C({table}_hot) with O(in_front).
    type: str
seealso:
  - module: olap.partmove.twin_table
  - module: olap.partmove.twin_move
"""

EXAMPLES = r"""
- name: Create hits_all, which reads hits and hits_cold
  olap.partmove.twin_view:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    shard_paths: [/clickhouse/tables/01/hits, /clickhouse/tables/02/hits]
    clickhouse:
      user: admin
      password: "{{ admin_password }}"

- name: Let hits read both tables, and rename the table for inserts to hits_hot
  olap.partmove.twin_view:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    shard_paths: [/clickhouse/tables/01/hits, /clickhouse/tables/02/hits]
    in_front: true
    clickhouse:
      user: admin
      password: "{{ admin_password }}"
"""

RETURN = r"""
msg:
  description: Number of changed replicas, or the error and its remedy.
  returned: always
  type: str
  sample: 2 of 4 replicas changed
tables:
  description: Each reading table, by the path of the hot table and by replica.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: Path of the hot table.
      type: str
    replica:
      description: The replica.
      type: str
    server:
      description: Its server.
      type: str
    table:
      description: The reading table.
      type: str
    statements:
      description: Executed statements, in check mode planned statements; empty without a change.
      type: list
      elements: str
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
            "shard_paths": {"type": "list", "elements": "str", "required": True},
            **argspec.TWIN,
            **argspec.TWIN_PLACES,
            "in_front": {"type": "bool", "default": False},
            "name": {"type": "str"},
            "lock_wait": argspec.LOCK_WAIT,
        },
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_view import (
        TwinView,
    )

    return TwinView(params)


if __name__ == "__main__":
    main()
