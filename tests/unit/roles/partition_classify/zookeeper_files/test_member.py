# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is made of whole, torn and corrupt files of a member."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from olap_partmove._partmove.errors import EnsembleError
from partition_classify.zookeeper_files.damage import DamagedFile
from support.files import log_files as log
from support.files.log_files import LogWriter
from support.files.member_files import tree_of
from support.files.snapshot_files import Trailers, snapshot_file

COMPRESSIONS = ["", "gz", "snappy"]


def write_snapshot(
    data_dir: Path,
    *names: str,
    zxid: int = 10,
    compression: str = "",
    trailers: Trailers | None = None,
    newest: int = 1,
) -> Path:
    """A snapshot with the znode /a and these below it, which were written last by the transaction newest."""
    with snapshot_file(data_dir, zxid, compression) as snapshot:
        snapshot.begin({0x100: 30_000})
        for path in ["", "/zookeeper", "/zookeeper/quota", "/a"]:
            snapshot.znode(path)
        for name in names:
            snapshot.znode(f"/a/{name}", name.encode() * 100, zxid=newest)
        snapshot.end(trailers)
    return next((data_dir / "version-2").glob(f"snapshot.{zxid:x}*"))


def names_of(data_dir: Path, **options: Path | Callable[[DamagedFile], None]) -> list[str]:
    found = tree_of(data_dir, "/a", **options)  # type: ignore[arg-type]  # each is of the type of its name
    return sorted(path.removeprefix("/a/") for path in found if path != "/a")


def write_log(data_dir: Path, first: int, *names: str) -> LogWriter:
    """A log that creates these znodes below /a."""
    writer = LogWriter(first)
    for name in names:
        writer.add(log.CREATE, log.create(f"/a/{name}"))
    writer.write(data_dir)
    return writer


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize(
    "trailers",
    [Trailers(), Trailers(digest=10), Trailers(last_zxid=10), Trailers(10, 10)],
    ids=["3.4", "3.6", "3.9 without digest", "3.9"],
)
def test_snapshot_of_each_release_and_compression_is_read(
    tmp_path: Path, compression: str, trailers: Trailers
) -> None:
    write_snapshot(tmp_path, "x", "y", compression=compression, trailers=trailers)
    assert names_of(tmp_path) == ["x", "y"]


def test_snapshot_larger_than_the_buffer_is_read(tmp_path: Path) -> None:
    names = [f"{number:06}" for number in range(20_000)]
    write_snapshot(tmp_path, *names)
    assert names_of(tmp_path) == names


def test_log_in_a_folder_of_its_own_is_read(tmp_path: Path) -> None:
    write_snapshot(tmp_path / "data", "x")
    write_log(tmp_path / "log", 11, "y")
    assert names_of(tmp_path / "data", data_log_dir=tmp_path / "log") == ["x", "y"]


def test_log_files_that_the_snapshot_covers_are_not_needed(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x", zxid=12)
    write_log(tmp_path, 1, "a")
    write_log(tmp_path, 10, "w", "x", "v", "y")
    assert names_of(tmp_path) == ["x", "y"]


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("part", [0.0, 0.3, 0.999])
def test_torn_snapshot_is_named_with_its_offset(tmp_path: Path, compression: str, part: float) -> None:
    path = write_snapshot(tmp_path, "x", "y", compression=compression)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    with pytest.raises(DamagedFile, match=rf"^{path}: .+ at byte \d+\. Copy the folder again") as error:
        names_of(tmp_path)
    assert error.value.path == path


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_snapshot_with_any_byte_changed_is_refused(tmp_path: Path, compression: str) -> None:
    path = write_snapshot(tmp_path, "x", compression=compression, trailers=Trailers(10, 10))
    content = bytearray(path.read_bytes())
    # In the header of a gzip file some bytes mean nothing: time, flags and the system that wrote it.
    for place in range(10 if compression == "gz" else 0, len(content), 3):
        content[place] ^= 0x41
        path.write_bytes(content)
        with pytest.raises(DamagedFile):
            names_of(tmp_path)
        content[place] ^= 0x41


def test_bytes_after_the_seal_are_refused(tmp_path: Path) -> None:
    path = write_snapshot(tmp_path, "x")
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(DamagedFile, match=f"something follows the checksum that is not known at byte {size}"):
        names_of(tmp_path)


def test_older_snapshot_is_read_only_when_asked_for(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "old", zxid=10)
    write_log(tmp_path, 11, "new", "newer")
    newest = write_snapshot(tmp_path, "old", "new", zxid=11)
    newest.write_bytes(newest.read_bytes()[:-3])
    with pytest.raises(DamagedFile, match=f"^{newest}: "):
        names_of(tmp_path)

    told: list[DamagedFile] = []
    assert names_of(tmp_path, older_snapshot=told.append) == ["new", "newer", "old"]
    assert [error.path for error in told] == [newest]


def test_older_snapshot_does_not_help_a_corrupt_log(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x", zxid=9)
    write_snapshot(tmp_path, "x", zxid=10)
    path = tmp_path / "version-2" / "log.b"
    writer = write_log(tmp_path, 11, "y", "z")
    writer.content[60] ^= 1
    path.write_bytes(writer.content)
    with pytest.raises(DamagedFile, match=f"^{path}: a transaction is corrupt.* at byte 16"):
        names_of(tmp_path, older_snapshot=lambda _error: None)


@pytest.mark.parametrize("padding", [0, 1, 5000, 3 << 20])
def test_log_ends_where_the_zeros_begin(tmp_path: Path, padding: int) -> None:
    write_snapshot(tmp_path)
    writer = write_log(tmp_path, 11, "x", "y")
    writer.write(tmp_path, padding)
    assert names_of(tmp_path) == ["x", "y"]


@pytest.mark.parametrize("padding", [0, 1000])
def test_unfinished_transaction_at_the_end_does_not_count(tmp_path: Path, padding: int) -> None:
    write_snapshot(tmp_path)
    writer = write_log(tmp_path, 11, "x")
    whole = len(writer.content)
    writer.add(log.CREATE, log.create("/a/y"))
    for size in range(whole, len(writer.content) - 1):
        (tmp_path / "version-2" / "log.b").write_bytes(bytes(writer.content[:size]) + bytes(padding))
        assert names_of(tmp_path) == ["x"], size


def test_log_goes_on_after_a_server_died_in_a_transaction(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    writer = write_log(tmp_path, 11, "x", "torn")
    del writer.content[-20:]
    writer.write(tmp_path, 500)
    write_log(tmp_path, 12, "y")
    assert names_of(tmp_path) == ["x", "y"]


def test_hole_in_a_log_is_refused(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    writer = LogWriter(11)
    writer.add(log.CREATE, log.create("/a/x"))
    hole = len(writer.content)
    writer.add(log.CREATE, log.create("/a/y"))
    writer.content[hole : hole + 30] = bytes(30)
    path = writer.write(tmp_path)
    with pytest.raises(DamagedFile, match=f"^{path}: a transaction is torn, .* at byte {hole}"):
        names_of(tmp_path)


def test_missing_log_file_is_refused(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    write_log(tmp_path, 11, "x")
    write_log(tmp_path, 13, "z")
    with pytest.raises(EnsembleError, match="transaction 0xd follows 0xb, so those between them are missing"):
        names_of(tmp_path)


def test_new_leader_begins_to_count_again(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    write_log(tmp_path, 11, "x")
    write_log(tmp_path, (7 << 32) + 1, "y")
    assert names_of(tmp_path) == ["x", "y"]


def test_transaction_that_was_logged_twice_counts_once(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    writer = LogWriter(11)
    writer.add(log.CREATE, log.create("/a/x"))
    writer.add(log.DELETE, log.delete("/a/x"))
    writer.zxid = 11
    writer.add(log.CREATE, log.create("/a/x"))
    writer.write(tmp_path)
    assert names_of(tmp_path) == []


@pytest.mark.parametrize(
    ("kind", "body"),
    [(99, b"?"), (log.CREATE, b"\0\0\0\x09/a"), (log.DELETE, log.delete("/a/x") + b"more")],
    ids=["type", "length", "rest"],
)
def test_transaction_that_is_not_known_is_refused(tmp_path: Path, kind: int, body: bytes) -> None:
    write_snapshot(tmp_path)
    writer = LogWriter(11)
    writer.add(log.CREATE, log.create("/a/x"))
    offset = writer.add(kind, body)
    path = writer.write(tmp_path)
    with pytest.raises(
        DamagedFile, match=f"^{path}: transaction 0xc of type {kind} is not understood .* at byte {offset}"
    ):
        names_of(tmp_path)


@pytest.mark.parametrize("trailers", [Trailers(digest=12), Trailers(last_zxid=12)], ids=["3.6", "3.9"])
def test_log_older_than_the_snapshot_is_refused(tmp_path: Path, trailers: Trailers) -> None:
    write_snapshot(tmp_path, "x", trailers=trailers)
    write_log(tmp_path, 11, "y")
    with pytest.raises(DamagedFile, match="has transaction 0xc, but the log ends with 0xb"):
        names_of(tmp_path)


def test_log_older_than_a_znode_is_refused(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x", newest=12)
    write_log(tmp_path, 11, "y")
    with pytest.raises(DamagedFile, match="has transaction 0xc, but the log ends with 0xb"):
        names_of(tmp_path)


def test_folder_without_a_snapshot_is_refused(tmp_path: Path) -> None:
    write_log(tmp_path, 1, "x")
    with pytest.raises(EnsembleError, match=f"There is no snapshot in {tmp_path}/version-2"):
        names_of(tmp_path)


def test_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EnsembleError, match=f"{tmp_path}/version-2 cannot be read: No such file"):
        names_of(tmp_path)


@pytest.mark.parametrize("name", ["snapshot.5.zst", "snapshot.bak", "log.x1"])
def test_file_of_an_unknown_kind_is_refused(tmp_path: Path, name: str) -> None:
    write_snapshot(tmp_path)
    (tmp_path / "version-2" / name).touch()
    with pytest.raises(EnsembleError, match=f"{name} is not named as ZooKeeper names a"):
        names_of(tmp_path)


def test_unfinished_snapshot_of_a_later_release_is_passed_over(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x")
    (tmp_path / "version-2" / "snapshot.ff.tmp").touch()
    assert names_of(tmp_path) == ["x"]


def test_checksum_of_a_large_snapshot_is_that_of_zlib(tmp_path: Path) -> None:
    path = write_snapshot(tmp_path, *(f"{number}" for number in range(5000)))
    content = path.read_bytes()
    assert int.from_bytes(content[-13:-5], "big") == zlib.adler32(content[:-13])
