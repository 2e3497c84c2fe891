#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: twin_ledger
short_description: Enter partitions in the ledger of a cold twin, or take dropped partitions out
version_added: 1.0.0
description:
  - The ledger in the hot ensemble lists the partitions that should be in a cold twin, with their rows and
    their lineage. M(olap.partmove.twin_move) writes the ledger with every move.
    M(olap.partmove.twin_audit_info) compares the twin with the ledger.
  - V(entered) enters the partitions that are in a twin. Needed once for twins that were filled before there
    was a ledger. Entries of partitions that retention dropped from both tables are removed.
  - V(dropped) takes partitions out of the ledger that were dropped from the twin on purpose.
  - A partition is refused if its rows are not proven to be where the ledger will say. The other partitions
    are written, and the module fails at the end.
notes:
  - C(docs/twin/audit.md) describes the ledger, and when to run this module.
  - No table is changed.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles.one
  - olap.partmove.ensembles.lock
  - olap.partmove.twins
  - olap.partmove.twins.records
  - olap.partmove.clickhouse_server.replicas
  - olap.partmove.journal
  - olap.partmove.attributes
  - olap.partmove.attributes.action_group
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details: Shows the partitions with their rows.
  idempotent:
    support: full
options:
  clickhouse:
    description: How to query the ClickHouse servers of the replicas. The user has to be allowed to read the
      database C(system).
    required: true
  state:
    description: Whether to enter what is in the twins, or to take out what was dropped on purpose.
    type: str
    choices: [entered, dropped]
    default: entered
  shard_paths:
    description:
      - With O(state=entered), ZooKeeper paths of the hot tables, C(zookeeper_path) in C(system.replicas).
      - Exactly one of O(shard_paths), O(root) and O(partitions) is needed.
    type: list
    elements: str
  root:
    description: With O(state=entered), enter the twins of all tables at and below this path; V(/) for all
      tables. Tables without a twin are left out.
    type: str
  partitions:
    description: With O(state=dropped), the partitions that were dropped from the twin on purpose.
    type: list
    elements: dict
    suboptions:
      shard_path:
        description: ZooKeeper path of the hot table.
        type: str
        required: true
      partition:
        description: Id of the partition, C(partition_id) in C(system.parts).
        type: str
        required: true
seealso:
  - module: olap.partmove.twin_audit_info
  - module: olap.partmove.twin_move
"""

EXAMPLES = r"""
- name: Enter all twins that were filled before there was a ledger
  olap.partmove.twin_ledger:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    clickhouse:
      user: monitor
      password: "{{ monitor_password }}"
    root: /

- name: A partition was dropped from a twin on purpose
  olap.partmove.twin_ledger:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    clickhouse:
      user: monitor
      password: "{{ monitor_password }}"
    state: dropped
    partitions:
      - shard_path: /clickhouse/tables/01/hits
        partition: "201912"
"""

RETURN = r"""
msg:
  description: The counts in a sentence, or the error and its remedy.
  returned: always
  type: str
  sample: 12 partitions entered, 0 removed, 30 unchanged, 0 refused
counts:
  description: Number of partitions that were C(entered), C(removed), C(unchanged) and C(refused); a refused
    table counts once.
  returned: when the options are valid
  type: dict
  sample: {entered: 12, removed: 0, unchanged: 30, refused: 0}
entered:
  description: Partitions whose entry was written, by shard path and partition.
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
    rows:
      description: Rows of the partition in the twin.
      type: int
    blocks:
      description: Ranges of block numbers of its parts.
      type: str
  sample: [{shard_path: /clickhouse/tables/01/hits, partition: "201912", rows: 1000000, blocks: 0-120}]
removed:
  description: Partitions that left the ledger, with their former entry, as RV(entered).
  returned: when the options are valid
  type: list
  elements: dict
refused:
  description: Partitions that were refused; without a C(partition), all partitions of the table.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the hot table.
      type: str
    partition:
      description: Id of the partition; empty for a whole table.
      type: str
    reason:
      description: Reason of the refusal.
      type: str
    remedy:
      description: Next step.
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
            "coordination_root": argspec.COORDINATION_ROOT,
            "lock_wait": argspec.LOCK_WAIT,
            **argspec.TWIN,
            "state": {"type": "str", "choices": ["entered", "dropped"], "default": "entered"},
            "shard_paths": {"type": "list", "elements": "str"},
            "root": {"type": "str"},
            "partitions": argspec.PARTITIONS,
            "journal": {"type": "path"},
        },
        mutually_exclusive=[("shard_paths", "root", "partitions")],
        required_one_of=[("shard_paths", "root", "partitions")],
        required_if=[("state", "dropped", ["partitions"])],
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_ledger import TwinLedger

    return TwinLedger(params)


if __name__ == "__main__":
    main()
