# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: rollout_waves
short_description: The order in which the servers of a cluster are changed
version_added: 1.0.0
description:
  - Returns the waves of a rollout. The servers of a wave are changed at the same time.
  - The servers of the canary shard come first and alone, then those of the other shards, of several shards at
    the same time if O(size) allows it.
author:
  - olap.partmove contributors (@olap-partmove)
options:
  _input:
    description: >-
      The servers, as mappings with the keys C(name), C(shard), C(lag), C(version), and C(steps), the list of
      what has to be done.
    type: list
    elements: dict
    required: true
  canary:
    description: The shard that comes first; the first shard if empty.
    type: str
    default: ""
  size:
    description: How many shards are changed at the same time, or a percentage of all shards.
    type: str
    default: "1"
  within:
    description:
      - V(rolling) changes one server of a shard at a time, the one with the most lag first.
      - V(together) changes all servers of a shard at the same time.
    type: str
    choices: [rolling, together]
    default: rolling
  pause:
    description: How long to wait between shards, such as V(90s), V(10m) or V(1h).
    type: str
    default: "0"
"""

EXAMPLES = r"""
- name: Show the order
  ansible.builtin.debug:
    msg: "{{ (servers | olap.partmove.rollout_waves(canary='2', pause='10m')).table }}"
  vars:
    servers:
      - {name: ch1, shard: 1, lag: 0, version: 20.12.3.3, steps: [restart clickhouse-server]}
      - {name: ch2, shard: 1, lag: 7, version: 20.12.3.3, steps: [restart clickhouse-server]}
      - {name: ch3, shard: 2, lag: 0, version: 20.12.3.3, steps: []}
"""

RETURN = r"""
_value:
  description: The waves in the order of the changes.
  type: dict
  contains:
    batches:
      description: The names of the servers of each wave.
      type: list
      elements: list
      sample: [[ch3], [ch2], [ch1]]
    pauses:
      description: How long to wait before each wave, in seconds.
      type: list
      elements: int
      sample: [0, 0, 0]
    table:
      description: The lines of a table of the waves, for people.
      type: list
      elements: str
      sample:
        - "wave  server  shard  version    lag  to do"
        - "1     ch3     2      20.12.3.3  0    nothing"
        - "2     ch2     1      20.12.3.3  7    restart clickhouse-server"
        - "3     ch1     1      20.12.3.3  0    restart clickhouse-server"
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.rollout import (
    Order,
    pause_of,
    servers_of,
    table,
    waves,
)


def rollout_waves(
    servers: Sequence[Mapping[str, Any]],
    canary: str = "",
    size: str | int = "1",
    within: str = "rolling",
    pause: str | int = "0",
) -> dict[str, Any]:
    """Return the waves. Raises AnsibleFilterError for wrong servers or options."""
    try:
        order = Order(str(canary), str(size), within, pause_of(str(pause)))
        found = waves(servers_of(servers), order)
    except PartMoveError as error:
        raise AnsibleFilterError(str(error)) from error
    return {
        "batches": [[server.name for server in wave.servers] for wave in found],
        "pauses": [wave.pause for wave in found],
        "table": table(found),
    }


class FilterModule:
    """Provides the filter to Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the function of each filter by its name."""
        return {"rollout_waves": rollout_waves}
