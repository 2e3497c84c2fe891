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
  - Of a command, Ansible itself says only C(non-zero return code). This adds the last line that the command
    wrote to its standard error.
  - Of a task with C(until) whose condition never held, Ansible itself says nothing. If the result has
    C(findings), as that of M(olap.partmove.replica_info), this returns the worst of them with their remedies.
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

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

_SEVERITIES = ("error", "warning")
_SHOWN = 3
"""The number of findings that are told in full."""


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
    reason = _reason(failed[0] if failed else result)
    return f"{reason} (and {len(failed) - 1} more failed)" if len(failed) > 1 else reason


def _reason(result: Mapping[str, Any]) -> str:
    """Return why one task or item failed."""
    # A module that fails has no findings: these are of a task that was repeated until a condition held.
    found = _worst(result.get("findings") or ()) if "attempts" in result else ""
    if found:
        return found
    reason = str(result.get("msg") or "no message")
    written = [line.strip() for line in str(result.get("stderr") or "").splitlines() if line.strip()]
    return f"{reason}: {written[-1]}" if written and written[-1] not in reason else reason


def _worst(findings: Sequence[Mapping[str, Any]]) -> str:
    """Return the findings of the worst severity that is there, the first ones in full."""
    for severity in _SEVERITIES:
        worst = [each for each in findings if each.get("severity") == severity]
        if worst:
            told = " ".join(f"{each['where']}: {each['what']}. {each['remedy']}." for each in worst[:_SHOWN])
            return told + (f" And {len(worst) - _SHOWN} more." if len(worst) > _SHOWN else "")
    return ""


class FilterModule:
    """Provides the filter to Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the function of each filter by its name."""
        return {"failure_reason": failure_reason}
