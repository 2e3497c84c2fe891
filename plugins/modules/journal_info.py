#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: journal_info
short_description: Report events of earlier runs from the journal, by partition, run or time
version_added: 1.0.0
description:
  - Reads the journal of M(olap.partmove.part_move), M(olap.partmove.part_repair),
    M(olap.partmove.part_restore), M(olap.partmove.cold_owner), M(olap.partmove.twin_move),
    M(olap.partmove.table_move), M(olap.partmove.twin_alter), M(olap.partmove.twin_ledger) and
    M(olap.partmove.twin_repair) on the host that runs the module, and returns events and their runs.
  - The journal has the events that runs recorded. For the current state use M(olap.partmove.part_info),
    M(olap.partmove.part_audit_info) and M(olap.partmove.twin_audit_info).
  - A file with an unknown event or version is refused, with the number of the line.
notes:
  - The module reads the file line by line, so the file may have any size. Memory holds the runs and the
    newest O(max_listed) events.
  - Give rotated files one by one as O(path), uncompressed.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.attributes
  - olap.partmove.attributes.read_only
  - olap.partmove.attributes.action_group
options:
  path:
    description:
      - The journal; by default the default journal of the modules for the user that runs this module.
    type: path
  shard_path:
    description: Only events about the table at this ZooKeeper path.
    type: str
  partition:
    description: Only events about this partition of O(shard_path), and about the shard path as a whole.
    type: str
  run:
    description: Only events of the run with this id.
    type: str
  since:
    description: Only events since this time, in UTC, such as V(2026-11-22) or V(2026-11-22T06:45:00Z).
    type: str
  max_listed:
    description: Maximum number of events in the result; the newest events are returned. RV(count) is always
      complete.
    type: int
    default: 1000
seealso:
  - module: olap.partmove.part_move
  - module: olap.partmove.part_repair
  - module: olap.partmove.part_restore
"""

EXAMPLES = r"""
- name: Read the history of a partition
  olap.partmove.journal_info:
    shard_path: /clickhouse/tables/01/hits
    partition: "20191201"
  register: history

- name: Show the history, sorted by time
  ansible.builtin.debug:
    msg: "{{ item.time }} {{ item.event }} by run {{ item.run }}"
  loop: "{{ history.events }}"

- name: Find the runs that were killed since yesterday
  olap.partmove.journal_info:
    since: "{{ '%Y-%m-%d' | strftime(now(utc=true).timestamp() - 86400, utc=true) }}"
  register: journal
  failed_when: journal is failed or 'not_ended' in journal.runs | map(attribute='outcome')
"""

RETURN = r"""
msg:
  description: The counts in a sentence, or the error and its remedy.
  returned: always
  type: str
  sample: 3 events of 1 run
path:
  description: Path of the journal.
  returned: when the options are valid
  type: str
  sample: /root/.local/state/olap.partmove/journal.jsonl
events:
  description: The selected events, sorted by time. Each event has further keys, see
    C(docs/reference/journal.md).
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    time:
      description: Time of the record, in UTC.
      type: str
    run:
      description: Id of the run.
      type: str
    event:
      description: Name of the event.
      type: str
  sample:
    - time: "2026-11-22T06:45:00.000Z"
      run: 0f8fad5bd9cb469fa16570867728950e
      event: moved
      shard_path: /clickhouse/tables/01/hits
      partition: "20191201"
      parts: 2
      znodes: 2
      bytes: 192
      zxid: 4294967391
count:
  description: Number of selected events; RV(events) has at most O(max_listed) of them.
  returned: when the options are valid
  type: int
runs:
  description: The runs of the selected events, sorted by their start.
  returned: when the options are valid
  type: list
  elements: dict
  contains:
    run:
      description: Id of the run.
      type: str
    began:
      description: Time of the first line of the run.
      type: str
    ended:
      description: Time of the last line of the run; null without a recorded end.
      type: str
    outcome:
      description: V(completed); V(failed) after an error or with failed partitions; or V(not_ended) if the
        run was killed or is still running.
      type: str
    error:
      description: The error that ended the run; empty without an error.
      type: str
    counts:
      description: The counts at the end of the run.
      type: dict
    started:
      description: Fields at the start of the run, such as C(module), C(user) and C(host), see
        C(docs/reference/journal.md); null if the file does not have the start any more.
      type: dict
incomplete:
  description: Numbers of incomplete lines, caused by a killed run or a full disk. These lines are skipped.
  returned: when the options are valid
  type: list
  elements: int
"""

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.olap.partmove.plugins.module_utils._tasks.runner import Task, run


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path"},
            "shard_path": {"type": "str"},
            "partition": {"type": "str"},
            "run": {"type": "str"},
            "since": {"type": "str"},
            "max_listed": {"type": "int", "default": 1000},
        },
        required_by={"partition": ["shard_path"]},
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.journal_info import JournalInfo

    return JournalInfo(params)


if __name__ == "__main__":
    main()
