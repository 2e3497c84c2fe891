# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A scan by several processes gives what a scan by one process gives."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from partition_classify.sources.snapshot import SnapshotReader
from partition_classify.zookeeper_files import divided_scan
from partition_classify.zookeeper_files.damage import DamagedFile
from partition_classify.zookeeper_files.divided_scan import selected_by
from partition_classify.zookeeper_files.nodes import RecordReader, ZnodeRecord
from partition_classify.zookeeper_files.selection import Selection
from support.classify.members import TOP, TREE, generated, rows_of, surveyed
from support.files import log_files as log
from support.files.log_files import LogWriter
from support.files.snapshot_files import SnapshotWriter

SELECTION = Selection(endings=(b"/metadata",), changed_from=9, paths=frozenset({b"/t/7/x"}), part_every=5000)
PLAIN = [("", b""), *((f"/t/{n}/{name}", b"z" * (n % 200)) for n in range(900) for name in ("metadata", "x"))]


def written(path: Path, znodes: Iterable[tuple[str, bytes]]) -> Path:
    with path.open("wb") as file:
        writer = SnapshotWriter(file)
        for number, (znode, data) in enumerate(znodes):
            writer.znode(znode, data, zxid=1 + number % 9)
        writer.end()
    return path


def is_selected(record: ZnodeRecord) -> bool:
    _offset, path, _data, stored = record
    return path.endswith(SELECTION.endings) or path in SELECTION.paths or stored[23] == 9


def scan(path: Path, processes: int) -> tuple[list[ZnodeRecord], int, int]:
    """The selected records, and where the scan ended with which checksum."""
    with path.open("rb") as file:
        reader = RecordReader(file, path)
        records = list(selected_by(processes, reader, path, SELECTION, least=1000))
        assert reader.is_at_end
        return [each for each in records if is_selected(each)], reader.offset, reader.checksum


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The start of each range that another process scans."""
    starts: list[int] = []
    scanned = divided_scan._scanned

    def watched(path: Path, start: int, stop: int, selection: Selection) -> object:
        starts.append(start)
        return scanned(path, start, stop, selection)

    monkeypatch.setattr(divided_scan, "_scanned", watched)
    return starts


@pytest.mark.parametrize("processes", [2, 5])
def test_the_same_records_are_selected(processes: int, tmp_path: Path, started: list[int]) -> None:
    path = written(tmp_path / "snapshot.a", PLAIN)
    assert scan(path, processes) == scan(path, 1)
    assert len(started) == processes - 1


def test_data_that_looks_like_records_is_none(tmp_path: Path, started: list[int]) -> None:
    """Every range but the first one begins within such data, so one process reads all."""
    inner = written(tmp_path / "inner", PLAIN[1:]).read_bytes()
    path = written(
        tmp_path / "snapshot.a", [*PLAIN[:9], ("/t/data", inner), ("/t/more", inner), *PLAIN[9:20]]
    )
    whole = scan(path, 1)
    assert scan(path, 4) == whole
    assert len(started) == 3
    assert len(whole[0]) < 30


def test_no_record_begins_nearby(tmp_path: Path, started: list[int]) -> None:
    path = written(tmp_path / "snapshot.a", [("", b""), ("/t", b"z" * (5 << 20)), *PLAIN[1:]])
    assert scan(path, 3) == scan(path, 1)
    assert len(started) < 2


@pytest.mark.parametrize("cut", [0.4, 0.9])
def test_damage_is_reported_as_by_one_process(cut: float, tmp_path: Path) -> None:
    path = written(tmp_path / "snapshot.a", PLAIN)
    content = path.read_bytes()
    path.write_bytes(content[: int(cut * len(content))])
    messages = []
    for processes in (1, 3):
        with pytest.raises(DamagedFile) as error:
            scan(path, processes)
        messages.append((error.value.message, error.value.offset))
    assert messages[0] == messages[1]


def test_corrupt_length_in_a_range_of_another_process(tmp_path: Path) -> None:
    path = written(tmp_path / "snapshot.a", PLAIN)
    content = bytearray(path.read_bytes())
    at = content.index(b"/t/880/x") - 4
    content[at : at + 4] = b"\xff\xff\xff\x00"
    path.write_bytes(content)
    for processes in (1, 3):
        with pytest.raises(DamagedFile, match=f"-256 is not a valid length of a text at byte {at}"):
            scan(path, processes)


def test_processes_that_cannot_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "snapshot.a", PLAIN)
    whole = scan(path, 1)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert scan(path, 3) == whole


def test_classification_divides_a_large_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[int]
) -> None:
    monkeypatch.setattr(divided_scan, "BYTES_OF_A_PROCESS", 1000)
    folder = generated(tmp_path / "hot")
    writer = LogWriter(1001)
    writer.add(log.CREATE, log.create(f"{TREE.paths[0]}/replicas/r1/parts/20190101_7_7_0", b"data"))
    writer.write(tmp_path / "hot")
    assert surveyed([folder], (), TOP)
    assert not started
    one, three = (rows_of(SnapshotReader(TOP, (folder,), processes=number)) for number in (1, 3))
    assert len(started) == 2
    assert one == three
