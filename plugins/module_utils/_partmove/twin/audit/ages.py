# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The metrics of work that should not last: since when records, doubled rows and statements are there.

The metrics are times and not ages, so that an age grows also while no audit runs. A shard path where there is
nothing has no sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...findings.metrics import Family, Sample
from .audit import TwinAudit

_PREFIX = "partmove_twin_audit"


def age_families(audits: Sequence[TwinAudit]) -> Iterator[Family]:
    """Yield the metrics of records, doubled rows, unfinished statements and holds, by shard path."""
    yield Family(
        f"{_PREFIX}_oldest_record_timestamp_seconds",
        "When the oldest move began that has a record.",
        tuple(_sample(each, min(each.began.values())) for each in audits if each.began),
    )
    yield Family(
        f"{_PREFIX}_seen_twice_since_timestamp_seconds",
        "When the oldest move began whose rows readers of both tables may see twice.",
        tuple(_sample(each, min(doubled)) for each in audits if (doubled := _doubled(each))),
    )
    yield Family(
        f"{_PREFIX}_alter_unfinished_since_timestamp_seconds",
        "When the statement of twin_alter began that is not finished.",
        tuple(_sample(each, each.alter.began) for each in audits if each.alter is not None),
    )
    yield Family(
        f"{_PREFIX}_hold_until_timestamp_seconds",
        "When the hold of the shard path ends.",
        tuple(
            _sample(each, each.hold.until, ("owner", each.hold.owner))
            for each in audits
            if each.hold is not None
        ),
    )


def _doubled(audit: TwinAudit) -> list[int]:
    """Return when the moves began whose rows readers may see twice; without partitions of no record."""
    doubled = (row.partition for row in audit.rows if row.verdict.kind.is_seen_twice)
    return [audit.began[each] for each in doubled if each in audit.began]


def _sample(audit: TwinAudit, milliseconds: int, *labels: tuple[str, str]) -> Sample:
    return Sample(milliseconds / 1000, (("shard_path", audit.shard_path), *labels))
