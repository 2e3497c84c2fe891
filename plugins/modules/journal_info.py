#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: journal_info
short_description: Tell what runs did to a partition, when, and by whom
version_added: 0.1.0
description:
  - Reads the journal that M(olap.partmove.part_move), M(olap.partmove.part_repair) and
    M(olap.partmove.part_restore) write, on the host that the module runs on, and answers with events and with
    the runs that they belong to.
  - It tells what runs wrote down. To see how things are now, use M(olap.partmove.part_info) and
    M(olap.partmove.part_audit_info).
  - A file with an event or a version that is not known is refused, with the line.
notes:
  - A file of any size is read line by line. What is kept are its runs and the newest O(max_listed) events.
  - Files that were rotated away have to be asked one by one with O(path), uncompressed.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.attributes
  - olap.partmove.attributes.read_only
  - olap.partmove.attributes.action_group
options:
  path:
    description:
      - The journal. When it is not given, the one that the modules write by default for the user that this
        module runs as.
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
    description: Only events from this time on, in UTC, such as V(2026-11-22) or V(2026-11-22T06:45:00Z).
    type: str
  max_listed:
    description: How many events the result may have, the newest ones. RV(count) is always complete.
    type: int
    default: 1000
seealso:
  - module: olap.partmove.part_move
  - module: olap.partmove.part_repair
  - module: olap.partmove.part_restore
"""

EXAMPLES = r"""
- name: See what was done to a partition
  olap.partmove.journal_info:
    shard_path: /clickhouse/tables/01/hits
    partition: "20191201"
  register: history

- name: Show it, by time
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
  description: The counts in a sentence, or what is wrong and the way out.
  returned: always
  type: str
  sample: 3 events of 1 run
path:
  description: The file that was read.
  returned: when the options could be used
  type: str
  sample: /root/.local/state/olap.partmove/journal.jsonl
events:
  description: The events that were asked for, by time. Beside the keys here each has those of its event, see
    C(docs/reference/journal.md).
  returned: when the options could be used
  type: list
  elements: dict
  contains:
    time:
      description: When it was written down, in UTC.
      type: str
    run:
      description: Id of the run.
      type: str
    event:
      description: What it is.
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
  description: How many events were asked for; those beyond O(max_listed) are not in RV(events).
  returned: when the options could be used
  type: int
runs:
  description: The runs of the events that were asked for, by the time when they began.
  returned: when the options could be used
  type: list
  elements: dict
  contains:
    run:
      description: Id of the run.
      type: str
    began:
      description: The time of its first line.
      type: str
    ended:
      description: The time of its last line; none where the run has not told that it ended.
      type: str
    outcome:
      description: V(completed); V(failed), where it ended with an error or partitions failed; or
        V(not_ended), where it was killed or goes on still.
      type: str
    error:
      description: The error that it ended with; empty where there was none.
      type: str
    counts:
      description: The counts that it ended with.
      type: dict
    started:
      description: What it began with, such as C(module), C(user) and C(host), see C(docs/reference/journal.md); none
        where the file does not have its begin any more.
      type: dict
incomplete:
  description: Numbers of lines that were not written to their end, as a run was killed or a disk was full.
    They are left out.
  returned: when the options could be used
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
