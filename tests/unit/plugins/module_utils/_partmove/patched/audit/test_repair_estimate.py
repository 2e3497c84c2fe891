# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The estimate of a repair is what its check mode writes, for each kind; its time is that of the audit."""

from __future__ import annotations

import re

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import (
    ShardAudit,
    audit_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.repair_estimate import (
    Znodes,
    seconds_of,
    znodes_of,
)
from support.memory.bench import PATH
from support.memory.drifted import Drifted
from support.memory.drifts import DRIFTS, Drift


def estimated(drifted: Drifted, kind: FindingKind) -> Znodes:
    """Return the estimate of an audit."""
    rows = [row for row in audit_shard(drifted.evidence(), PATH).rows if row.verdict.kind is kind]
    assert rows
    return znodes_of(kind, rows)


def done(drifted: Drifted) -> Znodes:
    """Return the znodes of the table that repairs wrote and deleted."""
    found: dict[str, set[str]] = {"written": set(), "deleted": set()}
    for line in drifted.done:
        ensemble, what, path = re.match(r"(\w+): (\w+) (\S+)", line).groups()  # type: ignore[union-attr]
        if path == PATH or path.startswith(f"{PATH}/"):
            found["deleted" if what == "delete" else "written"].add(f"{ensemble} {path}")
    return Znodes(len(found["written"]), len(found["deleted"]))


@pytest.mark.parametrize("drift", DRIFTS.values(), ids=DRIFTS)
def test_a_repair_writes_and_deletes_what_was_estimated(drift: Drift) -> None:
    drifted = drift.made()
    estimate = estimated(drifted, drift.kind)
    assert not drifted.repair(drift.kind).left
    assert done(drifted) == estimate


def test_the_time_is_that_of_the_audits_of_the_shard_paths() -> None:
    audits = [
        ShardAudit(path, (), seconds=seconds) for path, seconds in (("/a", 2.0), ("/b", 0.5), ("/c", 9.0))
    ]
    assert seconds_of(audits, {"/a", "/b"}) == 7.5
    assert seconds_of(audits, set()) == 0.0
