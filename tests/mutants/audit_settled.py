# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of what an audit settles without its rules, and of what it keeps of the content of parts."""

from __future__ import annotations

from mutants.mutant import Mutant

_AUDIT = "patched/audit/audit.py"
_CONTENT = "patched/audit/content.py"
_SETTLED = "patched/audit/settled.py"
_VERDICTS = "patched/audit/verdicts.py"

MUTANTS = (
    Mutant(
        "a partition of a silent server is settled",
        _SETTLED,
        "if not self._is_complete or partition_id == NO_PARTITION",
        "if partition_id == NO_PARTITION",
        ("patched/audit/test_settled.py",),
    ),
    Mutant(
        "a problem in the content of a part is settled",
        _SETTLED,
        " or partition_id in self._problems:",
        ":",
        ("patched/audit/test_settled.py",),
    ),
    Mutant(
        "parts of a replica that only cold has are settled",
        _SETTLED,
        "if any(partition_id in parts for parts in self._elsewhere):",
        "if False:",
        ("patched/audit/test_settled.py",),
    ),
    Mutant(
        "parts that no disk has are settled",
        _SETTLED,
        " or on_disk.get(partition_id, ()) != (hot or cold):",
        ":",
        ("patched/audit/test_settled.py",),
    ),
    Mutant(
        "replicas that differ are settled",
        _SETTLED,
        "elif first != (hot, cold):",
        "elif False:",
        ("patched/audit/test_settled.py",),
    ),
    Mutant(
        "parts in hot whose State is COLD are settled",
        _SETTLED,
        "return None if is_marked else (_HOT if hot else _EMPTY)",
        "return _HOT if hot else _EMPTY",
        ("patched/audit/test_settled.py",),
    ),
    Mutant(
        "parts in cold whose State is not COLD are settled",
        _SETTLED,
        "if not is_marked or not self._has_ours_in_cold or len(cold) > 1:",
        "if not self._has_ours_in_cold or len(cold) > 1:",
        ("patched/audit/test_settled.py",),
    ),
    Mutant(
        "parts in cold of another table are settled",
        _SETTLED,
        "if not is_marked or not self._has_ours_in_cold or len(cold) > 1:",
        "if not is_marked or len(cold) > 1:",
        ("patched/audit/test_settled.py",),
    ),
    Mutant(
        "a partition with a content problem is not known",
        _CONTENT,
        "self.partitions.update(part.partition_id for part in parts if part.text in affected)",
        "pass",
        ("patched/audit/test_content.py",),
    ),
    Mutant(
        "a partition that the second read settles for other replicas counts as settled",
        _VERDICTS,
        "if before is not None and same_replicas and each in second.settled:",
        "if before is not None and each in second.settled:",
        ("patched/audit/test_verdicts.py",),
    ),
    Mutant(
        "a finding of the second read alone is settled",
        _VERDICTS,
        "if before is not None and same_replicas and each in second.settled:",
        "if before is not None and same_replicas:",
        ("patched/audit/test_verdicts.py",),
    ),
    Mutant(
        "copies that have to stay are only counted",
        _AUDIT,
        "return verdict.kind.is_consistent and verdict.kind is not FindingKind.COPIES_NEEDED",
        "return verdict.kind.is_consistent",
        ("patched/audit/test_audit_counted.py",),
    ),
)
