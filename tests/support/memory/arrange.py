# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a test does to the table of a bench, in few words."""

from __future__ import annotations

from collections.abc import Callable

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.identity import (
    Identity,
    identity_path,
    parse_identity,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.marker import (
    ColdMarker,
    HotSide,
    TableId,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.memory.bench import OTHER, PART, PATH, Bench
from support.memory.synthetic import LEGACY, MINIMALISTIC

Arrange = Callable[[Bench], object]

_HEAD = b"format version: 4\ncreate_time: 2026-11-21 00:23:24\nsource replica: r1\nblock_id: \n"
_MUTATION = (
    b"format version: 1\ncreate time: 2026-11-21 00:23:39\nsource replica: r1\nblock numbers count: 1\n"
)


def create(path: str, data: bytes = b"", *, at: str = PATH) -> Arrange:
    """Create a znode in hot."""
    return lambda bench: bench.hot.create(f"{at}/{path}", data, makepath=True)


def create_cold(path: str, data: bytes = b"") -> Arrange:
    """Create a znode in cold."""
    return lambda bench: bench.cold.create(f"{PATH}/{path}", data, makepath=True)


def write(path: str, data: bytes) -> Arrange:
    """Write the data of a znode in hot."""
    return lambda bench: bench.hot.set(f"{PATH}/{path}", data)


def delete(path: str) -> Arrange:
    """Delete a znode in hot, with all below it."""
    return lambda bench: bench.hot.delete(f"{PATH}/{path}", recursive=True)


def identify(bench: Bench) -> str:
    """Give hot an identity, unless it has one, and return its id."""
    path = identity_path(DEFAULT_ROOT)
    if bench.hot.exists(path) is None:
        bench.hot.create(path, Identity.new().encode(), makepath=True)
    identity = parse_identity(bench.hot_store.read([path])[0])
    assert identity is not None
    return identity.id


def mark_former(bench: Bench) -> None:
    """Mark the parts in cold as those of a former table of this hot ensemble at the path."""
    marker = ColdMarker(TableId(identify(bench), 1, 0), HotSide(PATH, DEFAULT_ROOT))
    bench.cold.set(PATH, marker.encode())


def mark_of_other_cluster(bench: Bench) -> None:
    """Mark the parts in cold as those of another hot ensemble with an equal table."""
    stat = bench.hot.get(PATH)[1]
    marker = ColdMarker(TableId("0" * 32, stat.czxid, stat.ctime), HotSide(PATH, DEFAULT_ROOT))
    bench.cold.set(PATH, marker.encode())


def mark_without_id(bench: Bench) -> None:
    """Mark the parts in cold as version 2 of the marker does, by path and transaction."""
    table = TableId("", bench.hot.get(PATH)[1].czxid, 0)
    bench.cold.set(PATH, ColdMarker(table, HotSide(PATH, DEFAULT_ROOT)).encode())


def mark_without_path(bench: Bench) -> None:
    """Mark the parts in cold as version 1 of the marker does, by transaction alone."""
    table = TableId("", bench.hot.get(PATH)[1].czxid, 0)
    bench.cold.set(PATH, ColdMarker(table, None).encode())


def forget_id(bench: Bench) -> None:
    """Delete the identity of hot."""
    bench.hot.delete(identity_path(DEFAULT_ROOT))


def both(*arranges: Arrange) -> Arrange:
    """Do one after the other."""

    def all_of_them(bench: Bench) -> None:
        for arrange in arranges:
            arrange(bench)

    return all_of_them


def define(name: str, change: Callable[[bytes], bytes]) -> Arrange:
    """Change the definition of the table, on every replica."""

    def arrange(bench: Bench) -> None:
        for path in (f"{PATH}/{name}", f"{PATH}/replicas/r1/{name}", f"{PATH}/replicas/r2/{name}"):
            bench.hot.set(path, change(bench.hot.get(path)[0]))

    return arrange


def on_both(name: str, data: bytes = MINIMALISTIC) -> Arrange:
    """Register one more part on both replicas."""
    return both(create(f"replicas/r1/parts/{name}", data), create(f"replicas/r2/parts/{name}", data))


def legacy_part(replica: str, checksums: bytes) -> Arrange:
    """Register PART of a replica in the legacy form."""
    path = f"replicas/{replica}/parts/{PART}"
    return both(
        write(path, b""),
        create(f"{path}/columns", LEGACY["columns"]),
        create(f"{path}/checksums", checksums),
    )


def mark(bench: Bench) -> None:
    """Let cold have the marker of this table, as after a first move."""
    assert bench.move(OTHER).moved.keys() == {OTHER}


def age(min_age: float, seconds: float) -> Arrange:
    """Ask for an age in seconds, and let so many pass."""

    def arrange(bench: Bench) -> None:
        bench.options = bench.options._replace(min_age=min_age)
        bench.clock.time += seconds

    return arrange


def allow(max_parts: int) -> Arrange:
    """Let partitions of so many parts pass."""

    def arrange(bench: Bench) -> None:
        bench.options = bench.options._replace(max_parts=max_parts)

    return arrange


def entry(body: bytes) -> bytes:
    """Return a log entry."""
    return _HEAD + body


def quorum(part: str) -> bytes:
    """Return the entry of a part that waits for a quorum."""
    return (
        f"version: 1\npart_name: {part}\nrequired_number_of_replicas: 2\n"
        "actual_number_of_replicas: 1\nreplicas:\nr1\n"
    ).encode()


def mutation(partition: str, block_number: int) -> bytes:
    """Return a mutation that parts of the partition from a block number on have."""
    return _MUTATION + f"{partition}\t{block_number}\ncommands: DELETE WHERE 1\n".encode()
