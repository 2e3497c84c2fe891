# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plans are written completely or not at all, by a single process or in chunks by many."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PlanError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import (
    PlanRow,
    read_plan,
    rows_from_list,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.origin import OriginZnode
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.writing import (
    encode_rows,
    staged_plan,
    write_plan,
)
from support.plans import HITS_1, HITS_2, ROWS, VISITS, made_up

POLICY_DIGEST = "ab" * 32
AS_OF = 1_790_000_000_123


def write(path: Path, rows: list[PlanRow]) -> None:
    write_plan(path, rows, policy_digest=POLICY_DIGEST, source="zookeeper", origin=made_up, as_of=AS_OF)


@pytest.fixture
def plan_path(tmp_path: Path) -> Path:
    path = tmp_path / "plan.jsonl"
    write(path, ROWS)
    return path


def test_origin_is_of_every_topmost_znode_once_and_sorted(tmp_path: Path) -> None:
    asked: list[list[str]] = []

    def origin(paths: Sequence[str]) -> list[OriginZnode]:
        asked.append(list(paths))
        # As of the files of two clusters.
        return [OriginZnode(path, czxid, 0) for czxid in (9, 8) for path in paths]

    rows = [*ROWS, VISITS._replace(shard_path="/data"), VISITS._replace(shard_path="/data/x")]
    path = tmp_path / "plan.jsonl"
    write_plan(path, rows, policy_digest=POLICY_DIGEST, source="test", origin=origin, as_of=AS_OF)
    assert asked == [["/ch", "/data"]]
    assert [each[:2] for each in read_plan(path).header.origin] == [
        ("/ch", 8),
        ("/ch", 9),
        ("/data", 8),
        ("/data", 9),
    ]


def test_a_failed_write_leaves_the_old_plan_and_no_other_file(plan_path: Path) -> None:
    before = plan_path.read_bytes()
    with pytest.raises(PlanError, match=r"row 2 for .*: partition 202610 of /ch/hits/01 is listed twice"):
        write(plan_path, [HITS_1, HITS_1])
    assert plan_path.read_bytes() == before
    assert list(plan_path.parent.iterdir()) == [plan_path]


def test_a_full_disk_is_reported_with_the_path_and_the_old_plan_stays(plan_path: Path) -> None:
    before = plan_path.read_bytes()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    rows = (HITS_1._replace(shard_path=f"/ch/{number:05}") for number in range(1000))
    try:
        # What is above it fails as on a full disk, with another word for it.
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limit[1]))
        with pytest.raises(PlanError) as refusal:
            write_plan(plan_path, rows, policy_digest=POLICY_DIGEST, source="x", origin=made_up, as_of=0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert refusal.value.message == f"{plan_path}: the file cannot be written: File too large"
    assert refusal.value.remedy.startswith(
        f"Check that this user can write to {plan_path.parent} and that the disk has "
    )
    assert plan_path.read_bytes() == before
    assert list(plan_path.parent.iterdir()) == [plan_path]


def test_a_lost_connection_is_no_error_of_the_file(tmp_path: Path) -> None:
    def rows() -> Iterator[PlanRow]:
        yield HITS_1
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        write_plan(
            tmp_path / "plan", rows(), policy_digest=POLICY_DIGEST, source="x", origin=made_up, as_of=0
        )
    assert list(tmp_path.iterdir()) == []


def write_chunks(path: Path, *stretches: list[PlanRow]) -> None:
    chunks = [chunk for rows in stretches for chunk in encode_rows(rows, "of a stretch")]
    staged = staged_plan(
        path, chunks, policy_digest=POLICY_DIGEST, source="zookeeper hot=zk1", origin=made_up, as_of=AS_OF
    )
    with staged:
        pass


def test_chunks_give_the_plan_of_all_rows(tmp_path: Path) -> None:
    whole, stretches = tmp_path / "whole.jsonl", tmp_path / "stretches.jsonl"
    write_chunks(whole, ROWS)
    write_chunks(stretches, ROWS[:1], [], ROWS[1:])
    assert whole.read_bytes() == stretches.read_bytes()
    assert list(read_plan(stretches).rows()) == ROWS


def test_many_rows_are_several_chunks() -> None:
    rows = [HITS_1._replace(partition=f"{number:06}") for number in range(12_000)]
    chunks = list(encode_rows(rows, "of a stretch"))
    assert len(chunks) > 1
    assert all(1 << 20 <= len(chunk.lines) < 1 << 21 for chunk in chunks[:-1])
    assert b"".join(chunk.lines for chunk in chunks).count(b"\n") == len(rows)


@pytest.mark.parametrize(
    ("stretches", "message"),
    [
        ([[HITS_1], [HITS_1]], "row 2 for .*: partition 202610 of /ch/hits/01 is listed twice"),
        ([[HITS_1, VISITS], [HITS_2]], "row 3 for .*: partition 202611 of /ch/hits/01 is out of order"),
        ([[HITS_2, HITS_1]], "row 2 of a stretch: partition 202610 of /ch/hits/01 is out of order"),
        ([[HITS_1, HITS_1]], "row 2 of a stretch: partition 202610 of /ch/hits/01 is listed twice"),
    ],
)
def test_disorder_within_and_between_chunks_is_refused(
    plan_path: Path, stretches: list[list[PlanRow]], message: str
) -> None:
    before = plan_path.read_bytes()
    with pytest.raises(PlanError, match=message):
        write_chunks(plan_path, *stretches)
    assert plan_path.read_bytes() == before


def test_rows_named_by_a_person_are_not_written(tmp_path: Path) -> None:
    rows = rows_from_list([{"shard_path": "/ch/hits/01", "partition": "202610"}], State.COLD)
    with pytest.raises(PlanError, match="last_modified is None"):
        write(tmp_path / "plan.jsonl", rows)
