#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: twin_view
short_description: Give a table and its cold twin one name for readers, on every replica
version_added: 0.1.0
description:
  - Sees to it that each replica has a table of the engine C(Merge) that reads a table and its twin, with the
    columns of the table. It has no rows of its own. Where its columns or its tables are others, as after an
    C(ALTER), it is replaced; the statements are shown in diff mode.
  - With O(in_front) the readers' name is the one that the table had, so that queries need no change. The
    table itself gets another name, by which rows have to be inserted from then on. The names are exchanged
    with C(EXCHANGE TABLES), while no partition is between the two.
  - All replicas are looked at before anything is done. A replica that cannot be asked, or that has another
    table of the name, is refused, and nothing is done then.
notes:
  - A Merge table takes no inserts, mutations or C(OPTIMIZE), and C(FINAL) works in each of the two by itself.
  - O(in_front) needs a database of the engine C(Atomic), and the twin named after the new name of the table.
    With the defaults, O(in_front) makes C(hits) C(hits_hot), whose twin has to be C(hits_hot_cold).
    M(olap.partmove.twin_table) creates it so with C(twin={table}_hot_cold).
  - Nothing changes for partitions; M(olap.partmove.twin_move) finds the table by its path.
  - The user of O(clickhouse) has to be allowed to C(CREATE) and C(DROP) tables, and to read the database
    C(system).
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
    details: The statements are shown.
  idempotent:
    support: full
options:
  shard_paths:
    description: ZooKeeper paths of the hot tables, as C(system.replicas) has them in C(zookeeper_path).
    type: list
    elements: str
    required: true
  in_front:
    description: Whether readers get the name that the table has, and not another one.
    type: bool
    default: false
  name:
    description:
      - Name of the reading table; C({table}) stands for the name of the table it reads.
      - With O(in_front) the name that the table gets, C({table}) standing for the one that it has before.
      - Without it C({table}_all), and with O(in_front) C({table}_hot).
    type: str
seealso:
  - module: olap.partmove.twin_table
  - module: olap.partmove.twin_move
"""

EXAMPLES = r"""
- name: Let readers of hits_all have both hits and hits_cold
  olap.partmove.twin_view:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    shard_paths: [/clickhouse/tables/01/hits, /clickhouse/tables/02/hits]
    clickhouse:
      user: admin
      password: "{{ admin_password }}"

- name: Let readers of hits have both, and hits_hot take the inserts
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
  description: How many replicas were changed, or what is wrong and the way out.
  returned: always
  type: str
  sample: 2 of 4 replicas changed
tables:
  description: Each reading table, by the path of the hot table and by replica.
  returned: when the options could be used
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
      description: What was done for it, or would be in check mode; nothing where it is as it shall be.
      type: list
      elements: str
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
