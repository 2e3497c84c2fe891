# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No task undoes the check mode that whoever includes it has applied.

``ansible_check_mode`` is what the command line says. In a plan, which applies check mode to the tasks of a
role, it is false: a task that computes its check mode from it would write.
"""

from __future__ import annotations

from support.ansible.tasks import tasks_by_file

_ALLOWED = {"Install what the module needs"}
"""Tasks that a plan carries out, because it needs what they do."""


def test_no_task_computes_its_check_mode() -> None:
    tasks = list(tasks_by_file())
    assert len({file for file, _task in tasks}) > 100
    computed = {str(task.get("name")) for _file, task in tasks if isinstance(task.get("check_mode"), str)}
    assert computed == _ALLOWED
