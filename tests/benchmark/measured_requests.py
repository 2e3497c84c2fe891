# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sends the requests of a move and does nothing else, in a process of its own: what the servers alone allow.

Takes a `Work` as JSON on standard input and writes a `Requests` as JSON. Everything is put into bytes before
the clock starts, and no answer is looked at but for its error. What a run takes once, such as its lock, is
left out.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import NoReturn

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.multi_batches import pack
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Create,
    Delete,
    Op,
    SetData,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import EnsembleOptions
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.read_requests import (
    CHILDREN,
    DATA,
    MultiRead,
    ReadSection,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.reader import (
    BATCHES_IN_FLIGHT,
    MAX_READS,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.session import Session
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.synced import SyncedReads
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.wire import (
    MultiEncoder,
    MultiWrite,
    Request,
)
from benchmark.cpu import cpu_seconds


@dataclass(frozen=True)
class Work:
    """What there is to move: partitions of one shard path that no run has touched, with one part each."""

    hot: Sequence[str]
    cold: Sequence[str]
    shard_path: str
    replicas: Sequence[str]
    parts: Mapping[str, str]
    """Partition id → name of its part."""
    data: str
    """What the znode of each part holds, in hexadecimal digits."""
    children: Mapping[str, str]
    """Name of each child of a part → what that holds, in the same way."""


@dataclass(frozen=True)
class Requests:
    """What that took."""

    parts: int
    requests: int
    seconds: float
    client_cpu_seconds: float


def main() -> None:
    """Send the requests for the work that standard input gives."""
    json.dump(asdict(send(Work(**json.load(sys.stdin)))), sys.stdout)


def send(work: Work) -> Requests:
    """Move the partitions, blindly."""
    encoder = MultiEncoder("", authenticated=False)
    with ExitStack() as stack:

        def session(*hosts: str) -> Session:
            opened = Session(EnsembleOptions("measured", hosts), "measured")
            stack.callback(opened.close)
            return opened

        hot, cold, members = session(*work.hot), session(*work.cold), [session(each) for each in work.cold]
        markers, parts = _markers(work), _parts(work)
        copies = [[op for path in paths for op in _copy(work, path)] for paths in parts.values()]
        switches: list[list[Op]] = [
            [SetData(state, State.COLD.data, 0), *(op for path in paths for op in _removal(work, path))]
            for state, paths in parts.items()
        ]
        marked: list[list[Op]] = [[Create(state, State.HOT.data)] for state in parts]
        every = [path for paths in parts.values() for path in paths]
        content = _content(work, every)
        steps: list[tuple[Session, list[Request]]] = [
            # A look by names, and one with all parts.
            (hot, [*markers, *markers, *content]),
            (cold, _multis(encoder, copies)),
            *((member, content) for member in members),
            (hot, _multis(encoder, marked)),
            # Right before the switch the parts that have children, without these; the switch checks versions.
            (hot, [*markers, *(_reads(every) if work.children else ())]),
            (hot, _multis(encoder, switches)),
            # And what became of it.
            (hot, markers),
        ]
        begin, cpu = time.perf_counter(), cpu_seconds()
        for one, requests in steps:
            for _request, answer in SyncedReads(one, "", _refuse).stream(requests, BATCHES_IN_FLIGHT):
                if answer.error:
                    raise RuntimeError(f"a request ended with error {answer.error}")
        seconds = time.perf_counter() - begin
        count = sum(len(requests) for _one, requests in steps)
        return Requests(len(every), count, seconds, cpu_seconds() - cpu)


def _refuse(path: str, code: int) -> NoReturn:
    raise RuntimeError(f"error {code} for {path}")


def _parts(work: Work) -> dict[str, list[str]]:
    """Path of the State of each partition → paths of its parts."""
    layout = ShardLayout(work.shard_path)
    folders = [layout.replica(each).parts for each in work.replicas]
    return {
        layout.state(each): [f"{folder}/{name}" for folder in folders] for each, name in work.parts.items()
    }


def _markers(work: Work) -> list[Request]:
    """What every look reads of each partition."""
    layout = ShardLayout(work.shard_path)
    states = [layout.state(each) for each in work.parts]
    folders = [layout.partition(each) for each in work.parts]
    read: list[Request] = [*_reads(states)]
    return read + [MultiRead("", [ReadSection(CHILDREN, each)]) for each in _slices(folders)]


def _copy(work: Work, path: str) -> list[Op]:
    children = [Create(f"{path}/{name}", bytes.fromhex(data)) for name, data in work.children.items()]
    return [Create(path, bytes.fromhex(work.data)), *children]


def _removal(work: Work, path: str) -> list[Op]:
    return [*(Delete(f"{path}/{name}", 0) for name in work.children), Delete(path, 0)]


def _content(work: Work, parts: Sequence[str]) -> list[Request]:
    """What a look, or a comparison, reads of these parts."""
    return [*_reads(parts), *_reads([f"{path}/{name}" for path in parts for name in work.children])]


def _reads(paths: Sequence[str]) -> Iterator[Request]:
    return (MultiRead("", [ReadSection(DATA, each)]) for each in _slices(paths))


def _slices(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    return (paths[at : at + MAX_READS] for at in range(0, len(paths), MAX_READS))


def _multis(encoder: MultiEncoder, groups: Sequence[Sequence[Op]]) -> list[Request]:
    batches = pack((), [*enumerate(groups)])
    return [MultiWrite(encoder.encode(batch.multi), lambda: True) for batch in batches]


if __name__ == "__main__":
    main()
