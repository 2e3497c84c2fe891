#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: twin_hold
short_description: Keep every run from a table and its twin while somebody changes both by hand
version_added: 1.0.0
description:
  - Places a hold on shard paths, or removes the hold. While a hold lasts, no module of this collection takes
    the lock of the shard path. C(twin_move) and C(part_move) defer every partition with the gate C(not_held).
  - A hold is placed only if no run is at work on the shard path, no partition is between the table and its
    twin, and no statement of C(twin_alter) is unfinished. Otherwise the module fails, and the message names
    the command to run first.
  - The hold is a znode in the hot ensemble, below O(coordination_root), with its owner, reason and end. The
    hold ends when the module is run with O(state=absent), or O(minutes) after the module was run last, by
    the clock of the ensemble. The next run deletes a hold whose time has passed, and returns the hold.
  - The hold keeps only this collection from the tables. It does not stop merges, inserts or other clients.
notes:
  - A refused shard path does not stop the others. The module fails at its end.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.ensembles.one
  - olap.partmove.ensembles.lock
  - olap.partmove.twins.records
  - olap.partmove.attributes
  - olap.partmove.attributes.action_group
attributes:
  check_mode:
    support: full
    details: Uses the clock of this host to decide whether a hold has ended, because nothing is written.
  diff_mode:
    support: full
  idempotent:
    support: full
    details: Placing a hold again with the same owner and reason prolongs the hold, which counts as no change.
options:
  shard_paths:
    description: ZooKeeper paths of the tables in the hot ensemble.
    type: list
    elements: str
    required: true
  state:
    description:
      - V(present) places the hold, and prolongs the hold of O(owner).
      - V(absent) removes the hold of O(owner). The hold of another owner is refused.
    type: str
    choices: [present, absent]
    default: present
  owner:
    description: Who has the hold, for people; a later run with another owner can neither prolong nor remove
      the hold.
    type: str
    required: true
  reason:
    description: Why the tables are held, for people. Required with O(state=present).
    type: str
  minutes:
    description: Duration of the hold in minutes from now, up to a week.
    type: int
    default: 60
seealso:
  - module: olap.partmove.twin_move
"""

EXAMPLES = r"""
- name: Keep moves from a table while its columns are changed
  olap.partmove.twin_hold:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    shard_paths: [/clickhouse/tables/01/hits]
    owner: schema migrations
    reason: ADD COLUMN more, ticket 4711
    minutes: 30

- name: Let moves go on
  olap.partmove.twin_hold:
    hot:
      hosts: [hot1:2181, hot2:2181, hot3:2181]
    shard_paths: [/clickhouse/tables/01/hits]
    owner: schema migrations
    state: absent
"""

RETURN = r"""
changed:
  description: Whether a hold was placed or removed, or would be in check mode.
  returned: when the options are valid
  type: bool
msg:
  description: The number of shard paths that are held or free now, or the error and its remedy.
  returned: always
  type: str
  sample: 1 of 1 shard path held
holds:
  description: The holds of O(owner) after the run.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the table.
      type: str
    owner:
      description: Owner of the hold.
      type: str
    reason:
      description: Reason of the hold.
      type: str
    until:
      description: End of the hold in UTC, by the clock of the ensemble.
      type: str
      sample: "2026-11-26T02:30:00.000Z"
refused:
  description: Shard paths whose hold was neither placed nor removed.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    shard_path:
      description: ZooKeeper path of the table.
      type: str
    reason:
      description: Why the hold was refused.
      type: str
    remedy:
      description: What to run first.
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
            "shard_paths": {"type": "list", "elements": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "owner": {"type": "str", "required": True},
            "reason": {"type": "str"},
            "minutes": {"type": "int", "default": 60},
        },
        required_if=[("state", "present", ["reason"])],
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_hold import TwinHold

    return TwinHold(params)


if __name__ == "__main__":
    main()
