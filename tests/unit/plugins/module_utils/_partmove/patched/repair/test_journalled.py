# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a journal has of parts that were moved registers them again."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.payload import parse_payload
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.lines import (
    encoded_lines,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    SavedZnode,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import RepairOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.journalled import (
    journalled_znodes,
)
from support.memory.bench import DAY, OTHER, PART, PATH
from support.memory.drifted import Drifted

R1, R2 = (f"{PATH}/replicas/{replica}/parts/{PART}" for replica in ("r1", "r2"))
TIME, RUN = "2026-11-22T06:45:00.000Z", "0f8fad5bd9cb469fa16570867728950e"


def journal_of(drifted: Drifted) -> list[bytes]:
    """The lines of the runs so far."""
    return [
        line
        for event, fields in drifted.bench.journal.events
        for line in encoded_lines(TIME, RUN, event, [fields])
    ]


@pytest.fixture
def moved() -> Drifted:
    """Two partitions were moved, and the disks have what was registered."""
    drifted = Drifted()
    data = drifted.bench.hot.get(R1)[0]
    checksums = parse_payload(data, {}, R1).checksums
    assert checksums is not None
    drifted.disks.hashes[PART] = checksums.hash_of_all_files
    assert drifted.bench.move(DAY, OTHER).moved.keys() == {DAY, OTHER}
    return drifted


def test_what_was_lost_from_cold_is_registered_again(moved: Drifted) -> None:
    data = moved.bench.cold.get(R1)[0]
    for path in (R1, R2):
        moved.bench.cold.delete(path)
    assert set(moved.kinds().values()) == {FindingKind.UNREGISTERED}
    given = journalled_znodes(journal_of(moved), ShardLayout(PATH), "journal")
    assert moved.repair(FindingKind.UNREGISTERED, RepairOptions(registrations=given)).left == {}
    assert [moved.bench.hot.get(path)[0] for path in (R1, R2)] == [data, data]
    assert moved.kinds() == {"r1": FindingKind.HOT, "r2": FindingKind.HOT}


def test_each_content_of_a_part_is_there_once(moved: Drifted) -> None:
    data = moved.bench.cold.get(R1)[0]
    lines = journal_of(moved)
    found = journalled_znodes([*lines, *lines], ShardLayout(PATH), "journal")
    assert SavedZnode("hot", R1, data, 0) in found
    assert len(found) == len({each.path for each in found}) == 2


def test_of_other_tables_and_events_there_is_nothing(moved: Drifted) -> None:
    lines = journal_of(moved)
    assert journalled_znodes(lines, ShardLayout("/t/other"), "journal") == []
    others = [line for line in lines if b'"switching"' not in line]
    assert journalled_znodes(others, ShardLayout(PATH), "journal") == []


def test_a_line_that_was_cut_off_is_passed_over(moved: Drifted) -> None:
    lines = journal_of(moved)
    whole = journalled_znodes(lines, ShardLayout(PATH), "journal")
    assert journalled_znodes([*lines, lines[0][:40] + b"\n", *lines], ShardLayout(PATH), "journal") == whole


def test_what_is_no_journal_is_refused() -> None:
    with pytest.raises(FormatError, match="file, line 1 is no JSON object"):
        journalled_znodes([b"x\n"], ShardLayout(PATH), "file")
    (line,) = encoded_lines(
        TIME,
        RUN,
        Event.SWITCHING,
        [
            {
                "shard_path": PATH,
                "partition": DAY,
                "state": "COLD",
                "state_before": "HOT",
                "state_version": 0,
                "parts": [{"part": PART, "digest": "0" * 64, "replicas": ["r1"], "data": "?"}],
            }
        ],
    )
    with pytest.raises(FormatError, match=r"line 1: parts\[0\].data is '\?'"):
        journalled_znodes([line], ShardLayout(PATH), "file")


@pytest.mark.parametrize(
    "part",
    [
        {"part": PART, "digest": "0" * 64, "replicas": ["r1"]},
        {"part": PART, "digest": "0" * 64, "replicas": [], "data": "QQ=="},
    ],
    ids=["in the legacy form", "of no replica"],
)
def test_parts_without_bytes_or_replicas_are_left_out(part: dict[str, object]) -> None:
    switch = {
        "shard_path": PATH,
        "partition": DAY,
        "state": "COLD",
        "state_before": "HOT",
        "state_version": 0,
        "parts": [part, {"part": f"{DAY}_1_1_0", "digest": "0" * 64, "replicas": ["r2"], "data": "QQ=="}],
    }
    found = journalled_znodes(encoded_lines(TIME, RUN, Event.SWITCHING, [switch]), ShardLayout(PATH), "file")

    assert found == [SavedZnode("hot", f"{PATH}/replicas/r2/parts/{DAY}_1_1_0", b"A", 0)]
