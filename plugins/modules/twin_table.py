#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: twin_table
short_description: Create the cold twins of replicated tables on every replica
version_added: 1.0.0
description:
  - Creates a cold twin of a table on each of its replicas. The twin is a table with the same columns, keys,
    indices, projections, settings and storage policy, whose ZooKeeper path is in an auxiliary ensemble.
    M(olap.partmove.twin_move) moves partitions to the twin.
  - Reads the replicas of a table from the hot ensemble, and creates missing twins on the server of each
    replica. The module checks all replicas before the first statement. A table is refused if a replica cannot
    be queried, if a replica has a different table with the name of the twin, or if the replicas differ. Then
    the table gets no twin on any replica. If a server refuses to create a twin, the following replicas get
    none. The other tables get their twins, and the module fails at the end and names each refused table.
  - The path of a twin has the macros of its table, such as C({shard}) and C({replica}), if they give the path
    of O(path). So C(SHOW CREATE TABLE) of a twin can be executed on a new replica.
notes:
  - Every server first needs the ensemble in C(<auxiliary_zookeepers>), see
    M(olap.partmove.clickhouse_config).
  - The user of O(clickhouse) needs the privilege C(CREATE TABLE), and has to be allowed to read the database
    C(system).
  - A table in a database of the engine C(Replicated) is refused, because servers cannot alter its twin.
  - A definition that the server allows only with other settings, such as C(LowCardinality(UInt8)) or the old
    syntax of C(MergeTree), is executed with the settings that allow it, as far as the user may change them.
  - A server does not show secrets. Columns with a secret are copied by C(CREATE TABLE … AS). A table with a
    secret in its keys, TTL or settings is refused.
  - No twin is created if the ledger lists partitions in a twin that no replica has under this name. The
    message names the twin if a server still has the table. See M(olap.partmove.twin_ledger).
  - A twin is never altered or dropped. After an C(ALTER) of a table run the same C(ALTER) on its twin.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles.one
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
    description:
      - ZooKeeper paths of the hot tables, C(zookeeper_path) in C(system.replicas).
      - Exactly one of O(shard_paths) and O(plan) is needed.
    type: list
    elements: str
  plan:
    description:
      - Path of a plan file of the role P(olap.partmove.partition_classify#role), on the host that runs the
        module, instead of O(shard_paths).
      - Creates twins of all tables with partitions that the plan requests to be cold. A plan of another
        cluster is refused.
    type: path
seealso:
  - module: olap.partmove.twin_move
  - module: olap.partmove.twin_ledger
  - module: olap.partmove.clickhouse_config
"""

EXAMPLES = r"""
- name: Create the cold twin on each replica of a table
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
  description: Number of created twins, or the error and its remedy.
  returned: always
  type: str
  sample: 2 of 4 twins created
twins:
  description: Each twin, by the path of its table and by replica.
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
      description: The hot table.
      type: str
    twin:
      description: Name of the twin, quoted as in SQL.
      type: str
    created:
      description: Whether the twin was created, or would be created in check mode.
      type: bool
    statement:
      description: The statement that creates the twin; empty for an existing twin.
      type: str
refused:
  description: Tables that lack a twin because a replica was refused, or a server refused to create the twin.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: Path of the hot table.
      type: str
    reason:
      description: Reason of the refusal.
      type: str
    remedy:
      description: Next step for the table.
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
            "clickhouse": argspec.clickhouse(required=True),
            "shard_paths": {"type": "list", "elements": "str"},
            "plan": {"type": "path"},
            "coordination_root": argspec.COORDINATION_ROOT,
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
