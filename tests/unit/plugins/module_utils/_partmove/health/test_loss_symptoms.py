# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The symptoms of loss: the disk of a server at an earlier time and now."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.facts import (
    Disk,
    DiskPartition,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.loss_symptoms import (
    LOSS_SYMPTOMS,
)
from support.memory.health import Case, disk, parts, seen, sentences

AFTER = disk()

CASES: list[Case] = [
    ("the same", {"before": AFTER}, []),
    ("new table", {"before": Disk({}, {})}, []),
    ("table gone", {"before": AFTER, "disk": Disk({}, {})}, ["table_lost d.t"]),
    ("empty table gone", {"before": disk({}), "disk": Disk({}, {})}, []),
    ("partition gone", {"before": AFTER, "disk": disk({})}, ["partition_lost d.t"]),
    ("partition without rows gone", {"before": disk(parts("2019_0_0_0", rows=0)), "disk": disk({})}, []),
    ("more rows", {"before": AFTER, "disk": disk(parts("2019_0_0_0", "2019_1_1_0", rows=5))}, []),
    (
        "merged",
        {"before": disk(parts("2019_0_0_0", "2019_1_1_0")), "disk": disk(parts("2019_0_1_1"))},
        [],
    ),
    ("mutated", {"before": AFTER, "disk": disk(parts("2019_0_0_0_1"))}, []),
    ("merged alone", {"before": AFTER, "disk": disk(parts("2019_0_0_1"))}, []),
    (
        "replaced with as many rows",
        {"before": AFTER, "disk": disk(parts("2019_1_1_0"))},
        ["part_lost d.t"],
    ),
    (
        "one of two gone, inserts hide it",
        {"before": disk(parts("2019_0_0_0", "2019_1_1_0")), "disk": disk(parts("2019_0_0_0", rows=9))},
        ["part_lost d.t"],
    ),
    (
        "fewer rows in the same part",
        {"before": AFTER, "disk": disk(parts("2019_0_0_0", rows=2))},
        ["rows_lost d.t"],
    ),
    (
        "fewer rows after a plain merge",
        {"before": AFTER, "disk": disk(parts("2019_0_0_1", rows=2))},
        ["rows_lost d.t"],
    ),
    (
        "fewer rows after a merge that replaces",
        {"before": AFTER, "disk": disk(parts("2019_0_0_1", rows=2), engine="ReplicatedReplacingMergeTree")},
        ["rows_merged d.t"],
    ),
    (
        "fewer rows of a replacing table without a merge",
        {"before": AFTER, "disk": disk(parts("2019_0_0_0", rows=2), engine="ReplicatedReplacingMergeTree")},
        ["rows_lost d.t"],
    ),
    (
        "fewer rows after a TTL merge",
        {"before": AFTER, "disk": disk(parts("2019_0_0_1", rows=2), ttl=True)},
        ["rows_merged d.t"],
    ),
    (
        "fewer rows after a mutation",
        {"before": AFTER, "disk": disk(parts("2019_0_0_0_1", rows=2))},
        ["rows_merged d.t"],
    ),
    (
        "old-style names",
        {
            "before": disk({"201912": DiskPartition(3, ("20191201_20191202_0_0_0",))}),
            "disk": disk({"201912": DiskPartition(3, ("20191201_20191205_0_3_1",))}),
        },
        [],
    ),
    (
        "detached since",
        {"before": AFTER, "disk": disk(detached=frozenset({"2018_0_0_0"}))},
        ["detached_new d.t"],
    ),
    (
        "detached before",
        {"before": disk(detached=frozenset({"x"})), "disk": disk(detached=frozenset({"x"}))},
        [],
    ),
    ("detached is not known now", {"before": AFTER, "disk": disk(detached=None)}, ["detached_unknown ch1"]),
    ("detached was not known", {"before": disk(detached=None)}, ["detached_unknown ch1"]),
    (
        "detached in a new table",
        {"before": Disk({}, {}), "disk": disk(detached=frozenset({"x"}))},
        ["detached_new d.t"],
    ),
]


@pytest.mark.parametrize(
    ("changes", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_which_facts_show_which_symptoms(changes: dict[str, Any], expected: list[str]) -> None:
    assert seen(LOSS_SYMPTOMS, changes) == expected


def test_every_symptom_has_a_case() -> None:
    shown = {text.split()[0] for case in CASES for text in case[2]}
    assert shown == {symptom.name for symptom in LOSS_SYMPTOMS}


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"before": AFTER, "disk": Disk({}, {})}, "the table is gone; it had 3 rows"),
        ({"before": AFTER, "disk": disk({})}, "partitions are gone: 2019 with 3 rows"),
        (
            {"before": AFTER, "disk": disk(parts("2019_1_1_0"))},
            "neither active nor merged into an active part: 2019_0_0_0",
        ),
        (
            {"before": AFTER, "disk": disk(parts("2019_0_0_0", rows=2))},
            "partitions have fewer rows: 2019 from 3 to 2",
        ),
        (
            {"before": AFTER, "disk": disk(parts("2019_0_0_1", rows=2), ttl=True)},
            "partitions have fewer rows: 2019 from 3 to 2",
        ),
        (
            {"before": AFTER, "disk": disk(detached=frozenset({"b", "a"}))},
            "new in its folder detached: a, b",
        ),
        (
            {"before": AFTER, "disk": disk(detached=None)},
            "new folders in detached are unknown for d.t",
        ),
    ],
)
def test_what_is_said_of_them(changes: dict[str, Any], what: str) -> None:
    assert sentences(LOSS_SYMPTOMS, changes) == [what]


@pytest.mark.parametrize(
    ("engine", "is_explained"),
    [
        ("ReplicatedMergeTree", False),
        ("ReplicatedReplacingMergeTree", True),
        ("ReplicatedVersionedCollapsingMergeTree", True),
        ("SummingMergeTree", True),
        ("AggregatingMergeTree", True),
        ("GraphiteMergeTree", True),
    ],
)
def test_engines_whose_merges_leave_fewer_rows(engine: str, is_explained: bool) -> None:
    found = seen(LOSS_SYMPTOMS, {"before": AFTER, "disk": disk(parts("2019_0_0_1", rows=2), engine=engine)})
    assert found == ["rows_merged d.t" if is_explained else "rows_lost d.t"]
