# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of real servers that write snapshots while znodes are created and, above all, deleted."""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

from olap_partmove._partmove.errors import EnsembleError
from partition_classify.zookeeper_files.folders import DataFolder, list_files
from support.servers.pipelined import Load, write_ballast
from support.servers.zookeeper import Ensemble, EnsembleOptions, Member
from support.servers.zookeeper_releases import Release

Connect = Callable[[str], KazooClient]
TOP = "/tables"
_PARTS = 1_500
_ON_THEIR_WAY = 300
_SECONDS = 300
_COPIES = 4


def options(release: Release | None, *, participants: int = 1, debian: bool = False) -> EnsembleOptions:
    """Servers that write a snapshot every few hundred transactions, which takes them a while."""
    properties = {
        "zookeeper.snapCount": "600",
        # Larger than any transaction: else ZooKeeper overwrites bytes of its own log.
        "zookeeper.preAllocSize": "512",
        "znode.container.checkIntervalMs": "86400000",
        "zookeeper.extendedTypesEnabled": "true",
    }
    return EnsembleOptions(participants=participants, properties=properties, debian=debian, release=release)


def write_history(
    ensemble: Ensemble, connect: Connect, seed: int, target: Path, *, since_3_5: bool, turns: int = 3
) -> list[Path]:
    """Let a started ensemble write; afterwards ``target`` has the files of its first member.

    Returns copies of these that were made meanwhile. The first member is never killed: its logs are complete.
    """
    chance = random.Random(seed)
    member = ensemble.members[0]
    copies: list[Path] = []
    client = connect(ensemble.connect_string)
    write_ballast(client, TOP)
    client.ensure_path(f"{TOP}/0")
    load = Load(client, TOP, seed, since_3_5=since_3_5)
    for turn in range(turns):
        load.run(chance.randrange(100, 400))
        parts = [f"{TOP}/0/p{turn}-{each}" for each in range(_PARTS)]
        client.ensure_path(f"{TOP}/0")
        _pipelined([lambda path=path: client.create_async(path, b"part" * 5) for path in parts])  # type: ignore[misc]
        with _copying(member, target.parent / f"{target.name}-copy-{turn}", copies, chance):
            _pipelined([lambda path=path: client.delete_async(path) for path in parts])  # type: ignore[misc]
        if turn == 0:
            # Another leader; a standalone server begins another log file.
            ensemble.stop()
            ensemble.start()
    load.run(50)
    load.settle()
    time.sleep(0.5)
    shutil.copytree(member.data_dir, target)
    return copies


class _copying:  # noqa: N801 - it is used as a function
    """Copies the folder of a member while it is written: first logs, then snapshots, with their times."""

    def __init__(self, member: Member, target: Path, copies: list[Path], chance: random.Random) -> None:
        self._member = member
        self._target = target
        self._copies = copies
        self._pause = chance.random() * 0.05
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_exception: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        for each in range(_COPIES):
            if self._end.wait(self._pause):
                return
            folder = self._target.with_name(f"{self._target.name}-{each}") / "version-2"
            folder.mkdir(parents=True)
            source = self._member.data_dir / "version-2"
            for path in sorted(source.iterdir(), key=lambda path: path.name.startswith("snapshot")):
                shutil.copy2(path, folder / path.name)
            with suppress(EnsembleError):
                list_files(DataFolder("hot", str(folder.parent)))
                self._copies.append(folder.parent)


def _pipelined(requests: list[Callable[[], object]]) -> None:
    answers: deque[object] = deque()
    for request in requests:
        answers.append(request())
        if len(answers) > _ON_THEIR_WAY:
            _await(answers.popleft())
    for answer in answers:
        _await(answer)


def _await(answer: object) -> None:
    with suppress(KazooException):
        answer.get(timeout=_SECONDS)  # type: ignore[attr-defined]  # of an asynchronous request
