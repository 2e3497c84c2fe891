#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: replica_info
short_description: Report whether the replicas of a ClickHouse server are healthy, with remedies
version_added: 1.0.0
description:
  - Reads replicated tables, active parts and detached folders from one ClickHouse server over its HTTP
    interface, and returns a diagnosis. Each finding has the problem, the place and the remedy.
  - With an earlier result as O(before) the module also reports data lost since then, while inserts and merges
    continue. A part is lost if the part is neither active nor merged or mutated into an active part. A
    partition is lost if all its parts are gone, or some of its rows. Fewer rows are only a notice if merges
    of the engine, a TTL or a mutation explain the difference.
  - With O(hot) and O(cold) the module also reports parts in the cold ensemble that are missing on the disk of
    the server. It also reports unregistered parts on the disk, and cold partitions whose server is not in the
    ledger.
  - Writes nothing. The module succeeds with any findings, and fails if the server or an ensemble does not
    answer. To wait for a replica use C(until) with RV(caught_up).
notes:
  - Partitions that are dropped, detached or replaced by hand between the two calls are reported as lost.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.clickhouse_server
  - olap.partmove.ensembles.read_only
  - olap.partmove.ensembles
  - olap.partmove.attributes
  - olap.partmove.attributes.read_only
  - olap.partmove.attributes.action_group
options:
  hot:
    description:
      - The ensemble in C(<zookeeper>) of the ClickHouse server.
      - Without this option the module does not check cold partitions and the ledger.
    required: false
  patched_sign:
    description:
      - A query that a patched server answers with one row with a single C(1). A server with an error or
        another answer is not patched.
      - Without this option the module does not check the patch.
    type: str
  replicas:
    description: Replicas that the server should have. Missing replicas are reported.
    type: list
    elements: dict
    suboptions:
      shard_path:
        description: ZooKeeper path of the table, as in its C(ENGINE) clause with macros replaced.
        type: str
        required: true
      replica:
        description: Name of the replica.
        type: str
        required: true
  before:
    description: An earlier result of this module for the same server. The module compares RV(parts) and
      RV(detached) with the current state.
    type: dict
  config_changed_at:
    description:
      - Time of the last change of the server configuration, in seconds since 1970, such as
        RV(ignore:stat.mtime) of a file. An older server process is reported.
      - A server reports its start time in whole seconds. Smaller differences are accepted.
    type: float
  max_delay:
    description: Maximum delay of a replica behind the others, in seconds or with a unit such as V(90s).
    type: str
    default: 60s
  max_queue_age:
    description: Maximum age of an entry in a replication queue. With an older entry the replica has not
      caught up.
    type: str
    default: 60s
  sample_interval:
    description: Time between two reads of a lagging replica, which show whether its delay grows. A server
      without lagging replicas is read once.
    type: str
    default: 2s
  ddl_path:
    description: Path of the queue of C(ON CLUSTER) statements, C(distributed_ddl) of the server.
    type: str
    default: /clickhouse/task_queue/ddl
  ddl_grace:
    description: Maximum age of an C(ON CLUSTER) statement. A host that has not executed an older statement is
      reported.
    type: str
    default: 60s
  read_disk:
    description:
      - Whether the module runs on the host of the server, as a user with read access to its data folders. The
        module then lists C(detached) folders from the disk if the server cannot report them, such as version
        18.16.
      - Without this option RV(detached[].names) is null for such a server.
    type: bool
    default: false
seealso:
  - module: olap.partmove.part_info
"""

EXAMPLES = r"""
- name: Check whether the replicas of this host are healthy
  olap.partmove.replica_info:
    read_disk: true
  register: replica

- name: Show the problems
  ansible.builtin.debug:
    msg: "{{ item.where }}: {{ item.what }}. {{ item.remedy }}."
  loop: "{{ replica.findings }}"

- name: After a restart, wait until all data is present and the replica has caught up
  olap.partmove.replica_info:
    read_disk: true
    before: "{{ replica }}"
    patched_sign: SELECT count() FROM system.build_options WHERE name = 'COLD_ZOOKEEPER'
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    cold:
      hosts: [cold1:2181, cold2:2181, cold3:2181]
  register: after
  until: after is success and after.caught_up
  retries: 60
  delay: 5
"""

RETURN = r"""
server:
  description: The server.
  returned: success
  type: dict
  contains:
    address:
      description: Address of the queried server.
      type: str
    version:
      description: Its version.
      type: str
    uptime:
      description: Seconds since its process started.
      type: int
    started:
      description: Start time of its process, in whole seconds, in UTC.
      type: str
    patched:
      description: Whether the server has the patch; null without O(patched_sign).
      type: bool
  sample:
    address: ClickHouse at localhost:8123
    version: 18.16.1
    uptime: 3600
    started: "2026-11-20T22:15:00Z"
    patched: null
replicas:
  description: Its replicated tables, sorted by database and name.
  returned: success
  type: list
  elements: dict
  contains:
    database:
      description: Database.
      type: str
    table:
      description: Name of the table.
      type: str
    engine:
      description: Its engine.
      type: str
    ensemble:
      description: Name of the ensemble with the table in the server configuration; V(default) is the ensemble
        in C(<zookeeper>). Tables in other ensembles are not compared with hot and cold.
      type: str
    shard_path:
      description: ZooKeeper path of the table.
      type: str
    replica:
      description: Name of the replica.
      type: str
    leader:
      description: Whether the replica assigns merges.
      type: bool
    read_only:
      description: Whether the replica refuses inserts.
      type: bool
    session_expired:
      description: Whether the session of the replica with ZooKeeper has expired.
      type: bool
    delay:
      description: Delay behind the other replicas in seconds.
      type: int
    queue:
      description: Number of entries in its queue.
      type: int
    queue_age:
      description: Age of the oldest entry in the queue in seconds, 0 for an empty queue.
      type: int
    log_lag:
      description: Number of log entries that the replica has not pulled yet; null if ZooKeeper does not
        answer.
      type: int
    total_replicas:
      description: Number of replicas of the table; null if ZooKeeper does not answer.
      type: int
    active_replicas:
      description: Number of active replicas of the table; null if ZooKeeper does not answer.
      type: int
parts:
  description: Active parts of all tables with parts, except in the database C(system), sorted.
  returned: success
  type: list
  elements: dict
  contains:
    database:
      description: Database.
      type: str
    table:
      description: Name of the table.
      type: str
    engine:
      description: Its engine.
      type: str
    ttl:
      description: Whether rows of the table expire.
      type: bool
    partitions:
      description: Dictionary from partition id to C(rows) and C(parts), the sorted names of the active parts.
      type: dict
  sample:
    - database: default
      table: hits
      engine: ReplicatedMergeTree
      ttl: false
      partitions:
        "20191201": {rows: 3, parts: [20191201_0_0_0]}
detached:
  description: Content of the folder C(detached) of each of these tables.
  returned: success
  type: list
  elements: dict
  contains:
    database:
      description: Database.
      type: str
    table:
      description: Name of the table.
      type: str
    names:
      description: Names of the folders, sorted; null if unknown.
      type: list
      elements: str
findings:
  description: Problems, errors first. C(docs/operate/replica-health.md) lists the symptoms.
  returned: success
  type: list
  elements: dict
  contains:
    symptom:
      description: Name of the symptom.
      type: str
    severity:
      description: V(error), V(warning) or V(notice).
      type: str
    where:
      description: The table, znode or server with the problem.
      type: str
    what:
      description: The problem.
      type: str
    see:
      description: Places for further investigation.
      type: str
    remedy:
      description: Next step.
      type: str
  sample:
    - symptom: cold_missing
      severity: error
      where: default.hits
      what: "registered in the cold ensemble and not on disk: 20191201_0_0_0"
      see: system.parts, the folder detached, olap.partmove.part_info
      remedy: Look for the part in the folder detached
healthy:
  description: Whether there is no finding of severity V(error).
  returned: success
  type: bool
caught_up:
  description: Whether the server is healthy and no replica has a growing delay, work older than
    O(max_queue_age), or a log that the replica does not pull.
  returned: success
  type: bool
"""

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.olap.partmove.plugins.module_utils._tasks import argspec
from ansible_collections.olap.partmove.plugins.module_utils._tasks.runner import Task, run


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "clickhouse": argspec.clickhouse_server(),
            "hot": argspec.ensemble(required=False),
            "cold": argspec.ensemble(required=False),
            "coordination_root": argspec.COORDINATION_ROOT,
            "patched_sign": {"type": "str"},
            "replicas": {
                "type": "list",
                "elements": "dict",
                "options": {
                    "shard_path": {"type": "str", "required": True},
                    "replica": {"type": "str", "required": True},
                },
            },
            "before": {"type": "dict"},
            "config_changed_at": {"type": "float"},
            "max_delay": {"type": "str", "default": "60s"},
            "max_queue_age": {"type": "str", "default": "60s"},
            "sample_interval": {"type": "str", "default": "2s"},
            "ddl_path": {"type": "str", "default": "/clickhouse/task_queue/ddl"},
            "ddl_grace": {"type": "str", "default": "60s"},
            "read_disk": {"type": "bool", "default": False},
        },
        required_by={"cold": "hot"},
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.replica_info import ReplicaInfo

    return ReplicaInfo(params)


if __name__ == "__main__":
    main()
