#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: twin_repair
short_description: Repair findings of one kind in tables with cold twins
version_added: 1.0.0
description:
  - Repairs the partitions of a table and its cold twin for which M(olap.partmove.twin_audit_info) reports one
    kind of finding. Repair one kind after the other, and run each repair in check mode before.
  - Compares the rows of both tables on every replica, by a hash of the whole row. Afterwards each row is
    there as often as in the table that has the row more often.
  - Detaches the parts whose rows the other table has, with C(ALTER TABLE … DETACH PART). The parts stay in
    C(detached/) until O(kind=kept_parts) deletes them, so every repair can be undone.
  - If both tables have rows that the other one lacks, the module writes the rows that only the table has into
    a scratch table on one server, and attaches them to the twin before it detaches the parts of the table.
  - Works under the lock of the shard path. If a server does not answer, or if the rows are not proven to be
    the same, the partition is left as before, with the reason. However a run ends, no row is lost, and the
    next run continues.
notes:
  - Between the ATTACH and the last DETACH PART readers of both tables see the added rows twice. At no time a
    row is missing.
  - Do not insert into the twin while the module works. Inserts into the table are safe at any time.
  - A partition with parts in C(detached/) is not moved by M(olap.partmove.twin_move) until they are deleted.
  - The user of O(clickhouse) needs the privileges C(ALTER TABLE), C(SELECT) and C(INSERT) on both tables, and
    C(CREATE TABLE), C(DROP TABLE), C(INSERT) and C(SELECT) on the scratch table
    C(<table>_partmove_<partition>) in the database of the table. V(set_aside) and V(not_ready) need C(SYSTEM)
    privileges on the twin, see C(docs/operate/clickhouse-rights.md).
  - The module fails if a server refuses the user, or does not permit it a statement. What was repaired before
    stays repaired.
  - Every replica reads all rows of a compared partition several times. Raise O(clickhouse.timeout) for large
    partitions.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles.one
  - olap.partmove.ensembles.lock
  - olap.partmove.twins
  - olap.partmove.twins.records
  - olap.partmove.clickhouse_server.replicas
  - olap.partmove.journal
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
    details: Shows the statements.
  idempotent:
    support: full
options:
  shard_paths:
    description:
      - ZooKeeper paths of the hot tables, C(zookeeper_path) in C(system.replicas), repaired one after the
        other, each under its own lock.
      - A shard path that cannot be repaired does not keep the others. The module then fails at the end, with
        RV(failed_shard_paths).
    type: list
    elements: str
    required: true
  kind:
    description:
      - Kind of finding to repair. C(docs/twin/repair.md) lists the repair of each kind.
      - V(unknown), V(equal), V(equal_in_part) and V(as_many_rows) are repaired by comparing rows.
      - V(attached), V(cloned), V(dropped), V(dropped_partly), V(merged), V(recorded), V(stale) and
        V(without_parts) are finished or undone, as M(olap.partmove.twin_move) does. So are the records of the
        other partitions of the table.
      - V(set_aside) attaches parts from C(detached/) of the twin whose blocks the ledger lists and the twin
        lacks, and compares the rows afterwards.
      - V(not_ready) runs C(SYSTEM RESTORE REPLICA) on the replicas whose twin has lost its znodes, if all
        replicas have the same parts and no move is recorded.
      - V(kept_parts) deletes the parts that repairs have kept in C(detached/).
    type: str
    required: true
    choices:
      - as_many_rows
      - attached
      - cloned
      - dropped
      - dropped_partly
      - equal
      - equal_in_part
      - kept_parts
      - merged
      - not_ready
      - recorded
      - set_aside
      - stale
      - unknown
      - without_parts
  partitions:
    description: Ids of the partitions to repair; by default all partitions of the kind.
    type: list
    elements: str
  kept_parts_are_unneeded:
    description:
      - Whether nobody needs the parts that repairs have kept. V(kept_parts) deletes nothing without this
        confirmation.
      - Check the rows of the repaired partitions before.
    type: bool
    default: false
  latency_target:
    description:
      - Seconds that the requests of the module may add to the latency of the hot ensemble. The module
        measures the latency all the time, and adapts how many operations its requests have, and how many of
        them are in flight. This does not concern the statements of the servers.
      - With V(0) the module runs at full speed.
  max_latency:
    description:
      - Latency limit of the hot ensemble in seconds. The module pauses if the latency exceeds both this limit
        and five times the latency at the start. The pause ends when the latency falls to half of the higher
        value. The module also pauses while more than 500 requests wait at a member, or a member lags behind
        the others. Members report these values by the four-letter word C(srvr).
      - Pauses happen between partitions only. The auxiliary ensemble is not watched, because only the servers
        have sessions with it.
      - With V(0) the module never pauses.
seealso:
  - module: olap.partmove.twin_audit_info
  - module: olap.partmove.twin_move
  - module: olap.partmove.journal_info
"""

EXAMPLES = r"""
- name: Show what a repair of partitions in an unknown state would do
  olap.partmove.twin_repair:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    clickhouse:
      user: admin
      password: "{{ admin_password }}"
      timeout: 600
    shard_paths: [/clickhouse/tables/01/hits]
    kind: unknown
  check_mode: true
  diff: true

- name: Delete the parts that repairs have kept, after the rows were checked
  olap.partmove.twin_repair:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    clickhouse:
      user: admin
      password: "{{ admin_password }}"
    shard_paths: [/clickhouse/tables/01/hits]
    kind: kept_parts
    kept_parts_are_unneeded: true
"""

RETURN = r"""
counts:
  description: Number of partitions of all shard paths by outcome, C(repaired) and C(left).
  returned: always
  type: dict
  sample: {repaired: 3, left: 1}
repaired:
  description: Repaired partitions; in check mode, partitions that would be repaired.
  returned: always
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the hot table.
      type: str
    partition:
      description: Id of the partition.
      type: str
    kind:
      description: Kind of the finding.
      type: str
    what:
      description: What was done, in words.
      type: str
    rows_before:
      description: Rows in each table before the repair, C(hot) and C(cold). Empty unless rows were compared.
      type: dict
    rows_after:
      description: Rows in each table after the repair.
      type: dict
    kept:
      description: Names of the parts of each table that the repair moved to C(detached/), C(hot) and C(cold);
        with O(kind=kept_parts), of the parts that were deleted there.
      type: dict
  sample:
    - shard_path: /clickhouse/tables/01/hits
      partition: "201912"
      kind: unknown
      what: the twin has each row of these parts of the table, which were detached
      rows_before: {hot: 1000, cold: 1000}
      rows_after: {hot: 0, cold: 1000}
      kept: {hot: [201912_0_3_1], cold: []}
left:
  description: Partitions of the kind that were not repaired.
  returned: always
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the hot table.
      type: str
    partition:
      description: Id of the partition; empty for a finding about the tables.
      type: str
    kind:
      description: Kind of the finding.
      type: str
    reason:
      description: Reason for leaving the partition.
      type: str
    remedy:
      description: Next step for the partition.
      type: str
failed_shard_paths:
  description: Shard paths that could not be repaired, or of which a server did not permit something.
  returned: always
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the hot table.
      type: str
    reason:
      description: Why the repair of the shard path ended.
      type: str
    remedy:
      description: Next step for the shard path.
      type: str
statements:
  description: SQL statements in order; in check mode, statements that would be executed. Statements about row
    policies, and those of a kind that a move finishes, are listed in check mode only.
  returned: always
  type: list
  elements: str
  sample: ["ALTER TABLE db.hits DETACH PART '201912_0_3_1'"]
records_removed:
  description: Paths of the znodes of records that the repair removed by itself.
  returned: always
  type: list
  elements: str
servers:
  description: The queried servers with their versions.
  returned: always
  type: list
  elements: dict
  contains:
    server:
      description: Name of the server.
      type: str
    version:
      description: Version of ClickHouse.
      type: str
"""

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.olap.partmove.plugins.module_utils._tasks import argspec
from ansible_collections.olap.partmove.plugins.module_utils._tasks.runner import Task, run

KINDS = [
    "as_many_rows",
    "attached",
    "cloned",
    "dropped",
    "dropped_partly",
    "equal",
    "equal_in_part",
    "kept_parts",
    "merged",
    "not_ready",
    "recorded",
    "set_aside",
    "stale",
    "unknown",
    "without_parts",
]


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "hot": argspec.ensemble(),
            "coordination_root": argspec.COORDINATION_ROOT,
            "lock_wait": argspec.LOCK_WAIT,
            "clickhouse": argspec.clickhouse(required=True),
            "shard_paths": {"type": "list", "elements": "str", "required": True},
            "kind": {"type": "str", "choices": KINDS, "required": True},
            "partitions": {"type": "list", "elements": "str"},
            "kept_parts_are_unneeded": {"type": "bool", "default": False},
            "journal": {"type": "path"},
            **argspec.TWIN,
            **argspec.LOAD,
            **argspec.PARTS_PER_SECOND,
        },
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_repair import TwinRepair

    return TwinRepair(params)


if __name__ == "__main__":
    main()
