# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of what an audit calls complete, and of what it calls an alarm."""

from __future__ import annotations

from mutants.mutant import Mutant

_AUDIT = "patched/audit/audit.py"
_FINDINGS = "findings/findings.py"
_JUDGE = "patched/audit/judge.py"

MUTANTS = (
    Mutant(
        "an audit of no table is complete",
        _FINDINGS,
        "return bool(self._audits) and not self.unjudged()",
        "return not self.unjudged()",
        ("findings/test_findings.py::test_nothing_is_not_complete",),
    ),
    Mutant(
        "what can wait is an alarm",
        _FINDINGS,
        "return row.verdict.kind.is_inconsistent and not row.verdict.can_wait",
        "return row.verdict.kind.is_inconsistent",
        ("findings/test_findings.py::test_what_can_wait_is_complete_and_no_drift",),
    ),
    Mutant(
        "a silent server of a table without partitions is nothing",
        _AUDIT,
        "        if replica not in judged:\n",
        "        if False:\n",
        ("patched/audit/test_audit_alarms.py",),
    ),
    Mutant(
        "copies that nobody needs can wait for ever",
        _JUDGE,
        "return partition.now - newest / 1000 < SECONDS_COPIES_MAY_STAY",
        "return True",
        ("patched/audit/test_audit_alarms.py",),
    ),
    Mutant(
        "copies of an interrupted move are late at once",
        _JUDGE,
        "newest = max([*writes, 0 if state is None else state.stat.mtime])",
        "newest = 0 if state is None else state.stat.mtime",
        ("patched/audit/test_audit_alarms.py",),
    ),
)
