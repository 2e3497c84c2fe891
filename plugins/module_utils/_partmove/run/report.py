# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run reports, in either way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from ..gates.gate import Refusal
from ..journal.events import Event
from ..journal.port import Journal


def refused(shard_path: str, refusals: Mapping[str, Refusal]) -> Iterator[dict[str, object]]:
    """The fields of `Event.UNDONE` and the like, for each partition id, sorted."""
    for each in sorted(refusals):
        yield {
            "shard_path": shard_path,
            "partition": each,
            "gate": refusals[each].gate.value,
            "reason": refusals[each].reason,
        }


class Refusing(Protocol):
    """The part of a report that names what a run did not do."""

    shard_path: str
    deferred: dict[str, Refusal]
    failed: dict[str, Refusal]


def record_refusals(journal: Journal, report: Refusing) -> None:
    """Let the journal have what the run is over with and did not do."""
    journal.record(Event.DEFERRED, refused(report.shard_path, report.deferred))
    journal.record(Event.FAILED, refused(report.shard_path, report.failed))
