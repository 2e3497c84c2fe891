# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filter failure_reason: why a task failed, of a task with a loop too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.olap.partmove.plugins.filter.failure_reason import FilterModule
from support.ansible.calls import run_playbook, write_playbook

failure_reason = FilterModule().filters()["failure_reason"]
LOOP = "One or more items failed"
LATE = {"severity": "warning", "where": "a.t", "what": "the delay grows", "remedy": "Wait"}
LOST = {"severity": "error", "where": "a.t", "what": "partitions are gone: 1", "remedy": "Search detached"}
FINE: dict[str, Any] = {"changed": True, "msg": "fine"}


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ({"failed": True, "msg": "no space"}, "no space"),
        ({"failed": True, "msg": ""}, "no message"),
        ({"failed": True, "msg": LOOP, "results": [FINE, {"failed": True, "msg": "no space"}]}, "no space"),
        (
            {
                "msg": LOOP,
                "results": [{"failed": True, "msg": "first"}, FINE, {"failed": True, "msg": "second"}],
            },
            "first (and 1 more failed)",
        ),
        ({"msg": "non-zero return code", "stderr": "one\nE: locked\n"}, "non-zero return code: E: locked"),
        ({"msg": LOOP, "results": [{"failed": True, "msg": "rc", "stderr": "E: locked"}]}, "rc: E: locked"),
        ({"msg": "rpm: no file", "stderr": "no file\n"}, "rpm: no file"),
        # Of a task with until, Ansible says nothing, or that it does not know.
        ({"attempts": 3, "findings": [LOST, LATE]}, "a.t: partitions are gone: 1. Search detached."),
        ({"attempts": 3, "findings": [LATE], "msg": "Unknown error."}, "a.t: the delay grows. Wait."),
        (
            {"attempts": 3, "findings": [LOST] * 5},
            " ".join(["a.t: partitions are gone: 1. Search detached."] * 3) + " And 2 more.",
        ),
        ({"attempts": 3, "findings": [], "msg": "no answer"}, "no answer"),
        ({"attempts": 3, "findings": [{**LATE, "severity": "notice"}]}, "no message"),
        # A module may return results of its own, of which none is a failure.
        ({"failed": True, "msg": "no space", "results": [FINE, "text"]}, "no space"),
    ],
)
def test_reason(result: dict[str, Any], reason: str) -> None:
    assert failure_reason(result) == reason


def test_what_is_no_result_is_refused() -> None:
    with pytest.raises(AnsibleFilterError, match="needs the result of a task, such as ansible_failed_result"):
        failure_reason("text")


def test_a_rescue_gets_the_reason_of_a_real_loop(tmp_path: Path) -> None:
    fails = {
        "ansible.builtin.fail": {"msg": "{{ item }} is full"},
        "when": "item != '/b'",
        "loop": ["/a", "/b", "/c"],
    }
    tells = {
        "ansible.builtin.debug": {"msg": "told: {{ ansible_failed_result | olap.partmove.failure_reason }}"}
    }
    run = run_playbook(write_playbook(tmp_path, [{"block": [fails], "rescue": [tells]}]))
    assert run.status == 0, run.told
    assert "told: /a is full (and 1 more failed)" in run.output


def test_a_rescue_gets_the_reason_of_a_real_command(tmp_path: Path) -> None:
    fails = {"ansible.builtin.command": {"argv": ["sh", "-c", "echo first >&2; echo locked >&2; exit 3"]}}
    tells = {
        "ansible.builtin.debug": {"msg": "told: {{ ansible_failed_result | olap.partmove.failure_reason }}"}
    }
    run = run_playbook(write_playbook(tmp_path, [{"block": [fails], "rescue": [tells]}]))
    assert run.status == 0, run.told
    assert "told: non-zero return code: locked" in run.output
