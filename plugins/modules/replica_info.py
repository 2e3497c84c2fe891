#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: replica_info
short_description: Tell whether the replicas of a ClickHouse server are healthy, and what to do if not
version_added: 0.1.0
description:
  - Asks one ClickHouse server over its HTTP interface for its replicated tables, active parts and detached
    folders, and returns a diagnosis. Each finding says what is the matter, where, and the way out.
  - With the result of an earlier call as O(before) it also tells what was lost since, while inserts and
    merges go on. A part counts as lost when it is neither active nor merged or mutated into an active one, a
    partition when it has no part or fewer rows than before. Fewer rows are only mentioned where merges of
    the engine, a TTL or a mutation explain them.
  - With O(hot) and O(cold) it also looks for parts that the cold ensemble has registered for the server and
    that are not on its disk, for parts on its disk that neither ensemble has registered, and for cold
    partitions whose server is not in the ledger.
  - Nothing is written. The module succeeds whatever it finds, and fails when the server or an ensemble does
    not answer. To wait for a replica use C(until) with RV(caught_up).
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
      - The ensemble that the ClickHouse server uses as C(<zookeeper>).
      - Without it nothing is said about cold partitions and the ledger.
    required: false
  patched_sign:
    description:
      - A query that a patched server answers with one row of one C(1). A server that refuses the query or
        answers with something else is not patched.
      - Without it nothing is said about the patch.
    type: str
  replicas:
    description: Replicas that the server should have. Those it does not have are reported.
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
    description: An earlier result of this module for the same server. Its RV(parts) and RV(detached) are
      compared with what is there now.
    type: dict
  config_changed_at:
    description:
      - When the configuration of the server was changed, in seconds since 1970, such as RV(ignore:stat.mtime)
        of a file. A process that is older is reported.
      - A server tells when it started to a second only. What is closer than that passes.
    type: float
  max_delay:
    description: How far a replica may be behind the others, as seconds or with a unit such as V(90s).
    type: str
    default: 60s
  max_queue_age:
    description: How old an entry of a replication queue may become until a replica counts as not caught up.
    type: str
    default: 60s
  sample_interval:
    description: Time between two looks at a replica that is behind, which tell whether its delay grows. A
      server where nothing is behind is looked at once.
    type: str
    default: 2s
  ddl_path:
    description: Where the server keeps statements of C(ON CLUSTER), its C(distributed_ddl).
    type: str
    default: /clickhouse/task_queue/ddl
  ddl_grace:
    description: How old a statement of C(ON CLUSTER) may become until a host that has not executed it is
      reported.
    type: str
    default: 60s
  read_disk:
    description:
      - Whether the module runs on the host of the server, as a user that may read its data folders. Then it
        lists C(detached) folders itself where the server cannot tell them, as 18.16 cannot.
      - Without it they are not known of such a server, and RV(detached[].names) is null.
    type: bool
    default: false
seealso:
  - module: olap.partmove.part_info
"""

EXAMPLES = r"""
- name: See whether the replicas of this host are healthy
  olap.partmove.replica_info:
    read_disk: true
  register: replica

- name: Show what is not well
  ansible.builtin.debug:
    msg: "{{ item.where }}: {{ item.what }}. {{ item.remedy }}."
  loop: "{{ replica.findings }}"

- name: After a restart, wait until nothing is lost and the replica has caught up
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
      description: Where it was asked.
      type: str
    version:
      description: Its version.
      type: str
    uptime:
      description: Seconds since its process started.
      type: int
    started:
      description: When its process started, to a second, in UTC.
      type: str
    patched:
      description: Whether it has the sign of the patch; null without O(patched_sign).
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
      description: What the server calls the ensemble that the table is in; V(default) is that of
        C(<zookeeper>). Of a table in another one hot and cold are not asked.
      type: str
    shard_path:
      description: ZooKeeper path of the table.
      type: str
    replica:
      description: Name of the replica.
      type: str
    leader:
      description: Whether it assigns merges.
      type: bool
    read_only:
      description: Whether it takes no inserts.
      type: bool
    session_expired:
      description: Whether its session with ZooKeeper is gone.
      type: bool
    delay:
      description: Seconds that it is behind the other replicas.
      type: int
    queue:
      description: Entries in its queue.
      type: int
    queue_age:
      description: Seconds since the oldest of them was made, 0 for an empty queue.
      type: int
    log_lag:
      description: Entries of the log that it has yet to take over; null when ZooKeeper does not tell.
      type: int
    total_replicas:
      description: Replicas of the table; null when ZooKeeper does not tell.
      type: int
    active_replicas:
      description: Those of them that are active; null when ZooKeeper does not tell.
      type: int
parts:
  description: Active parts of all tables that consist of parts, but those of the database C(system), sorted.
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
      description: Whether rows of it expire.
      type: bool
    partitions:
      description: Partition id to C(rows) and C(parts), the names of the active parts, sorted.
      type: dict
  sample:
    - database: default
      table: hits
      engine: ReplicatedMergeTree
      ttl: false
      partitions:
        "20191201": {rows: 3, parts: [20191201_0_0_0]}
detached:
  description: What is in the folder C(detached) of each of these tables.
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
      description: Names of the folders, sorted; null when they are not known.
      type: list
      elements: str
findings:
  description: What is not well, errors first. The symptoms are listed in C(docs/operate/replica-health.md).
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
      description: The table, znode or server it is about.
      type: str
    what:
      description: What is the matter.
      type: str
    see:
      description: Where a person can look.
      type: str
    remedy:
      description: The way out.
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
  description: Whether it is healthy and no replica has a delay that grows, work that is older than
    O(max_queue_age), or a log that it does not take over.
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
