# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: failure_reason
short_description: Why a task failed, also one with a loop
version_added: 1.0.0
description:
  - Returns the message of a task that failed, for a rescue.
  - Of a task with a loop, Ansible itself says only C(One or more items failed). This returns the message of
    the first item that failed, and how many others did.
author:
  - olap.partmove contributors (@olap-partmove)
options:
  _input:
    description: The result of the task, such as C(ansible_failed_result).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Remove copies of plans
  block:
    - name: Remove the copies
      ansible.builtin.file:
        path: "{{ item }}"
        state: absent
      loop: [/srv/plans/one.jsonl, /srv/plans/two.jsonl]
  rescue:
    - name: Show why
      ansible.builtin.debug:
        msg: "{{ ansible_failed_result | olap.partmove.failure_reason }}"
"""

RETURN = r"""
_value:
  description: The message; V(no message) if there is none.
  type: str
  sample: "Permission denied (and 1 more failed)"
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError


def failure_reason(result: Mapping[str, Any]) -> str:
    """Return the message of a task that failed, as DOCUMENTATION describes.

    Raises:
        AnsibleFilterError: what is given is no result of a task.
    """
    if not isinstance(result, Mapping):
        raise AnsibleFilterError(
            "olap.partmove.failure_reason needs the result of a task, such as ansible_failed_result."
        )
    failed = [
        item for item in result.get("results") or () if isinstance(item, Mapping) and item.get("failed")
    ]
    reason = str((failed[0] if failed else result).get("msg") or "no message")
    return f"{reason} (and {len(failed) - 1} more failed)" if len(failed) > 1 else reason


class FilterModule:
    """Provides the filter to Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the function of each filter by its name."""
        return {"failure_reason": failure_reason}
