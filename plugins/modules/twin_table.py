#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: twin_table
short_description: Create the cold twins of replicated tables, on every replica
version_added: 0.1.0
description:
  - Sees to it that each replica of a table has a cold twin beside it, a table of the same columns, keys,
    indices, projections, settings and storage policy whose path is in an auxiliary ensemble. It is what
    M(olap.partmove.twin_move) moves partitions to.
  - The hot ensemble tells the replicas of a table, and the server of each is told to create what is missing.
    All of them are looked at before anything is created. A table of which a replica cannot be asked or has
    another one of the name, or whose replicas differ, is refused, so that no replica of it gets a twin. The
    others get theirs, and the module fails at its end.
notes:
  - Every server needs the ensemble in C(<auxiliary_zookeepers>) first, see
    M(olap.partmove.clickhouse_config).
  - The user of O(clickhouse) has to be allowed to C(CREATE TABLE) and to read the database C(system).
  - A twin is never altered or dropped. After an C(ALTER) of a table do the same with its twin.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles.one
  - olap.partmove.twins
  - olap.partmove.twins.places
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
    description:
      - ZooKeeper paths of the hot tables, as C(system.replicas) has them in C(zookeeper_path).
      - Exactly one of O(shard_paths) and O(plan) is needed.
    type: list
    elements: str
  plan:
    description:
      - Path of a plan file, on the host that the module runs on, as the role
        P(olap.partmove.partition_classify#role) writes it, in place of O(shard_paths).
      - The tables are those of which it wants a partition cold. A plan of another cluster is refused.
    type: path
seealso:
  - module: olap.partmove.twin_move
  - module: olap.partmove.clickhouse_config
"""

EXAMPLES = r"""
- name: Give each replica of a table its cold twin
  olap.partmove.twin_table:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    shard_paths: [/clickhouse/tables/01/hits, /clickhouse/tables/02/hits]
    clickhouse:
      user: admin
      password: "{{ admin_password }}"
"""

RETURN = r"""
msg:
  description: How many twins were created, or what is wrong and the way out.
  returned: always
  type: str
  sample: 2 of 4 twins created
twins:
  description: Each twin, by the path of its table and by replica.
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
      description: The hot table.
      type: str
    twin:
      description: Its twin, as it stands in SQL.
      type: str
    created:
      description: Whether it was created, or would be in check mode.
      type: bool
    statement:
      description: The statement for that; empty for one that is there.
      type: str
refused:
  description: The tables of which no replica got a twin.
  returned: when the options could be used
  type: list
  elements: dict
  contains:
    shard_path:
      description: Path of the hot table.
      type: str
    reason:
      description: Why.
      type: str
    remedy:
      description: The way out.
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
            "clickhouse": argspec.clickhouse(required=True),
            "shard_paths": {"type": "list", "elements": "str"},
            "plan": {"type": "path"},
            **argspec.TWIN,
            **argspec.TWIN_PLACES,
        },
        mutually_exclusive=[("shard_paths", "plan")],
        required_one_of=[("shard_paths", "plan")],
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_table import TwinTables

    return TwinTables(params)


if __name__ == "__main__":
    main()
