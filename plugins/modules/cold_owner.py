#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cold_owner
short_description: Bind a cold ensemble to a hot ensemble, and take over its tables
version_added: 1.0.0
description:
  - A cold ensemble belongs to the hot ensembles that are bound to it. The first run of
    M(olap.partmove.part_move) binds them by itself, and a second hot ensemble is refused. This module binds a
    second one, by name.
  - Each table in cold names its hot ensemble by a random id. Moves, repairs and restores refuse a table of
    another hot ensemble. This module lets this hot ensemble take such a table over, with proof.
  - The proof is the consent of the other cluster, or the disks. In the latter case each part in cold is
    active on the disk of its replica, and has the same hash there.
  - A copy of a hot ensemble has its id. A run of one is recognised by a token that the other does not know,
    and so is a hot ensemble that was set back to a backup. Then O(no_copy_runs) or O(state) says how to go
    on.
  - Check the hosts and the chroots of both ensembles first. In most cases, they are those of another cluster.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles
  - olap.partmove.ensembles.lock
  - olap.partmove.journal
  - olap.partmove.clickhouse_server.replicas
  - olap.partmove.attributes
  - olap.partmove.attributes.action_group
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  clickhouse:
    description: How to reach the servers of the replicas. Required with O(state=taken).
  state:
    description:
      - V(bound) binds the two ensembles to each other, and takes no table over. A copy gets an id of its own.
      - V(taken) takes over the tables in O(shard_paths), each with proof, and binds the two ensembles
        with the first proof.
      - V(given) lets the hot ensemble in O(to) take over the tables in O(shard_paths), without further proof.
        Run it with the hot ensemble that owns the tables.
    type: str
    choices: [bound, taken, given]
    default: bound
  shard_paths:
    description:
      - ZooKeeper paths of the tables, C(zookeeper_path) in C(system.replicas).
      - Not with O(state=bound).
    type: list
    elements: str
  to:
    description:
      - The id of the hot ensemble that may take the tables over, RV(hot_id) of this module there. Only with
        O(state=given).
    type: str
  name:
    description:
      - The name of the hot ensemble in messages. By default, its members and its chroot at the time when it
        was bound. A name replaces the former name.
      - Not with O(state=given).
    type: str
  no_copy_runs:
    description:
      - You vouch that no other ensemble with the files of this hot ensemble runs or will run. Neither the
        original nor a copy, such as a staging environment that was made from this ensemble or for which this
        ensemble was made.
      - Lets a hot ensemble that was set back to a backup keep its id and its tables. Changes nothing if runs
        recognise this hot ensemble.
    type: bool
    default: false
seealso:
  - module: olap.partmove.part_audit_info
  - module: olap.partmove.part_repair
"""

EXAMPLES = r"""
- name: Let a second cluster use the cold ensemble
  olap.partmove.cold_owner:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    cold:
      hosts: [cold1:2181, cold2:2181, cold3:2181]
    name: reporting

- name: Take over a table whose hot ensemble was replaced
  olap.partmove.cold_owner:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    cold:
      hosts: [cold1:2181, cold2:2181, cold3:2181]
    clickhouse:
      password: "{{ clickhouse_password }}"
    shard_paths: [/clickhouse/tables/01/hits]
    state: taken

- name: Go on with a hot ensemble that was restored from a backup
  olap.partmove.cold_owner:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    cold:
      hosts: [cold1:2181, cold2:2181, cold3:2181]
    no_copy_runs: true
"""

RETURN = r"""
hot_id:
  description: The id of the hot ensemble; empty before its first run.
  returned: always
  type: str
  sample: 2f6c1f2b7d0a4c66a1f3a5a6f1a0b9c4
cold_id:
  description: The id of the cold ensemble; empty before its first run.
  returned: always
  type: str
  sample: 8a4e3f5d1f0c4d7eb5d7a1c2e3f40516
hot_ids:
  description: The ids of the hot ensembles to which the cold ensemble belongs, sorted.
  returned: always
  type: list
  elements: str
  sample: [2f6c1f2b7d0a4c66a1f3a5a6f1a0b9c4]
tables:
  description: The tables whose marker in cold was written, sorted by shard path.
  returned: always
  type: list
  elements: dict
  contains:
    shard_path:
      description: The ZooKeeper path of the table.
      returned: always
      type: str
      sample: /clickhouse/tables/01/hits
    owner:
      description: The new owner and the proof, or the hot ensemble that may take the table over.
      returned: always
      type: str
      sample: 2f6c1f2b7d0a4c66a1f3a5a6f1a0b9c4, proven by disks
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
            "cold": argspec.ensemble(),
            "clickhouse": argspec.clickhouse(),
            "coordination_root": argspec.COORDINATION_ROOT,
            "lock_wait": argspec.LOCK_WAIT,
            "state": {"type": "str", "choices": ["bound", "taken", "given"], "default": "bound"},
            "shard_paths": {"type": "list", "elements": "str"},
            "to": {"type": "str"},
            "name": {"type": "str"},
            "no_copy_runs": {"type": "bool", "default": False},
            "journal": {"type": "path"},
        },
        required_if=[
            ("state", "taken", ["shard_paths", "clickhouse"]),
            ("state", "given", ["shard_paths", "to"]),
        ],
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.cold_owner import ColdOwner

    return ColdOwner(params)


if __name__ == "__main__":
    main()
