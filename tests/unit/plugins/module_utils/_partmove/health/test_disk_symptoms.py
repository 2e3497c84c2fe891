# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The symptoms of a server's disk."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.disk_symptoms import (
    DISK_SYMPTOMS,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.facts import (
    DiskPartition,
    HealthLimits,
)
from support.memory.health import SERVER, Case, cold, disk, many, parts, seen, sentences

CASES: list[Case] = [
    ("few parts", {"disk": many(2)}, []),
    ("many parts", {"disk": many(3)}, ["many_parts d.t"]),
    ("nearly too many parts", {"disk": many(4)}, ["many_parts d.t"]),
    ("too many parts", {"disk": many(5)}, ["too_many_parts d.t"]),
    (
        "no limits",
        {"disk": many(9), "server": SERVER._replace(parts_to_delay=0, parts_to_throw=0)},
        [],
    ),
    ("ignored", {"disk": disk(detached=frozenset({"ignored_2018_0_0_0"}))}, ["detached_parts d.t"]),
    ("unexpected", {"disk": disk(detached=frozenset({"unexpected_2018_0_0_0"}))}, ["detached_parts d.t"]),
    ("detached by hand", {"disk": disk(detached=frozenset({"2018_0_0_0"}))}, []),
    ("detached not known", {"disk": disk(detached=None)}, []),
    ("cold and ready", {"cold": cold()}, []),
    ("cold not looked at", {"cold": [cold()[0]._replace(missing=None)]}, []),
    ("cold part missing", {"cold": cold("2019_0_0_0")}, ["cold_missing d.t"]),
    ("registered nowhere", {"cold": cold(unregistered=("2019_0_0_0",))}, ["unregistered d.t"]),
    ("ensembles not looked at", {"cold": [cold()[0]._replace(unregistered=None)]}, []),
    ("cold, not in the ledger", {"cold": cold(not_ready="x")}, ["state_without_ledger d.t"]),
    ("hot, not in the ledger", {"cold": cold(not_ready="x", ids=())}, []),
    (
        "cold, patched, not in the ledger",
        {"cold": cold(not_ready="x"), "server": SERVER._replace(patched=True)},
        ["ledger_stale d.t"],
    ),
    (
        "cold, not patched",
        {"cold": cold(not_ready="x"), "server": SERVER._replace(patched=False)},
        ["unpatched d.t"],
    ),
    ("hot, not patched", {"cold": cold(ids=()), "server": SERVER._replace(patched=False)}, []),
    ("as old as the configuration", {"limits": HealthLimits(config_changed_at=900.9)}, []),
    ("older than the configuration", {"limits": HealthLimits(config_changed_at=901.0)}, ["old_process ch1"]),
]


@pytest.mark.parametrize(
    ("changes", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_which_facts_show_which_symptoms(changes: dict[str, Any], expected: list[str]) -> None:
    assert seen(DISK_SYMPTOMS, changes) == expected


def test_every_symptom_has_a_case() -> None:
    shown = {text.split()[0] for case in CASES for text in case[2]}
    assert shown == {symptom.name for symptom in DISK_SYMPTOMS}


COUNTS = "2020 with 4 parts, 2019 with 3 parts"


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        (
            {"disk": many(5)},
            "inserts are refused from 5 active parts of a partition on: 2019 with 5 parts",
        ),
        (
            {"disk": disk(parts(*"abc") | {"2020": DiskPartition(1, tuple("abcd"))})},
            f"inserts are slowed down from 3 active parts of a partition on: {COUNTS}",
        ),
        (
            {"disk": disk(detached=frozenset({"ignored_b", "unexpected_a", "c"}))},
            "its folder detached has ignored_b, unexpected_a",
        ),
        (
            {"cold": cold("2019_0_0_0")},
            "registered in the cold ensemble and not on disk: 2019_0_0_0",
        ),
        (
            {"cold": cold(unregistered=("2019_0_0_0",))},
            "active on disk and registered in neither ensemble: 2019_0_0_0",
        ),
        (
            {"cold": cold(not_ready="x"), "server": SERVER._replace(patched=False)},
            "the table has cold partitions (2019), and the server has no sign of the patch",
        ),
        ({"cold": cold(not_ready="it is stale")}, "State of 2019 is COLD, and it is stale"),
        (
            {"cold": cold(not_ready="it is stale"), "server": SERVER._replace(patched=True)},
            "State of 2019 is COLD, and it is stale",
        ),
        (
            {"limits": HealthLimits(config_changed_at=903.0)},
            "its process started 3 s before the config changed",
        ),
    ],
)
def test_what_is_said_of_them(changes: dict[str, Any], what: str) -> None:
    assert sentences(DISK_SYMPTOMS, changes) == [what]
