# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Situations of files: copies of a member's folder with files missing, cut, emptied, stale or of others."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from olap_partmove._partmove.errors import EnsembleError
from partition_classify.zookeeper_files.folders import DataFolder
from partition_classify.zookeeper_files.log_records import LogFile
from support.files.member_files import read_all
from support.files.restored import Judge, NotRestored, Tree, of_clients, write_empty

_SECOND = 10**9


class Read(NamedTuple):
    """What the reader makes of a folder: the last transaction and the tree."""

    until: int
    tree: Tree


def read(data_dir: Path) -> Read:
    """Read the folder as the census does. Raises EnsembleError."""
    member, znodes = read_all(DataFolder("hot", str(data_dir)))
    return Read(member.until, of_clients(znodes))


@dataclass
class History:
    """Complete files of one member: every log since its first transaction, and all snapshots."""

    name: str
    data_dir: Path
    judge: Judge
    work: Path
    copies: list[Path] = field(default_factory=list)
    """Copies of the folder that were made while it was written: first the logs, then the snapshots."""

    def __post_init__(self) -> None:
        """Find where each transaction ends."""
        self.logs = sorted(self.files("log"), key=number)
        self.ends = [
            (txn.zxid, path, txn.offset + 12 + 24 + 8 + len(txn.body) + 1)
            for path in self.logs
            for txn in LogFile(path)
        ]
        self._truths: dict[int, Tree] = {}

    def files(self, kind: str) -> list[Path]:
        """The files of the folder, in the order of their numbers."""
        return sorted((self.data_dir / "version-2").glob(f"{kind}.*"), key=number)

    def truth(self, until: int) -> Tree | None:
        """The tree after a transaction, restored from all logs up to it; None without such a transaction."""
        if until and not until & 0xFFFFFFFF:
            # The begin of an epoch, which no transaction has.
            until = max((zxid for zxid, _path, _end in self.ends if zxid < until), default=0)
        if until not in self._truths:
            place = next(((path, end) for zxid, path, end in self.ends if zxid == until), None)
            if place is None and until:
                return None
            self._truths[until] = self._restored(until, place)
        return self._truths[until]

    def _restored(self, until: int, place: tuple[Path, int] | None) -> Tree:
        """Restore all logs up to the end of a transaction, which is in this file; of none with None."""
        folder = self.work / f"{self.name}-truth"
        shutil.rmtree(folder, ignore_errors=True)
        write_empty(folder)
        if place is not None:
            last, end = place
            for path in self.logs[: self.logs.index(last)]:
                shutil.copy2(path, folder / "version-2" / path.name)
            (folder / "version-2" / last.name).write_bytes(last.read_bytes()[:end] + bytes(4096))
        zxid, tree = self.judge.restored(folder)
        assert zxid == until
        return tree


def number(path: Path) -> int:
    """The transaction in the name of a file."""
    return int(path.name.split(".")[1], 16)


class Verdict(NamedTuple):
    """What became of a situation: "refused", "right", or a sentence that begins with "WRONG"."""

    text: str
    message: str = ""


def verdict(data_dir: Path, histories: Sequence[History]) -> Verdict:
    """Compare what is read with the truth of the histories, and with what ZooKeeper restores."""
    try:
        found = read(data_dir)
    except EnsembleError as error:
        return Verdict("refused", error.message)
    for history in histories:
        if history.truth(found.until) == found.tree:
            break
    else:
        expected = histories[0].truth(found.until)
        differing = "all znodes"
        if expected is not None:
            paths = found.tree.keys() | expected.keys()
            differing = f"{sum(found.tree.get(path) != expected.get(path) for path in paths)} znodes"
        return Verdict(f"WRONG: read up to 0x{found.until:x}, {differing} differ from the history")
    try:
        zxid, tree = histories[0].judge.restored(data_dir)
    except NotRestored as error:
        return Verdict("right", f"ZooKeeper refuses: {error}")
    if (zxid, tree) != found and tree != found.tree:
        return Verdict("right", f"ZooKeeper restores another tree, up to 0x{zxid:x}")
    return Verdict("right")


Change = Callable[[random.Random, Path, History, History], str]


def situation(chance: random.Random, target: Path, history: History, other: History) -> str:
    """Write one situation into ``target``, and return its name."""
    shutil.rmtree(target, ignore_errors=True)
    source = chance.choice([history.data_dir, history.data_dir, *history.copies])
    shutil.copytree(source, target)
    _choose_snapshots(chance, target)
    names = [
        chance.choice(_CHANGES)(chance, target, history, other) for _each in range(chance.choice([1, 1, 2]))
    ]
    return " + ".join([source.name, *names])


def _choose_snapshots(chance: random.Random, target: Path) -> None:
    snapshots = _files(target, "snapshot")
    keep = chance.choice(["all", "newest", "one", "some"])
    kept = {
        "all": snapshots,
        "newest": snapshots[-1:],
        "one": [chance.choice(snapshots)] if snapshots else [],
        "some": [path for path in snapshots if chance.random() < 0.5],
    }[keep]
    for path in snapshots:
        if path not in kept:
            path.unlink()


def _files(target: Path, kind: str) -> list[Path]:
    return sorted((target / "version-2").glob(f"{kind}.*"), key=number)


def _log(chance: random.Random, target: Path) -> Path | None:
    logs = _files(target, "log")
    return chance.choice([*logs, logs[-1]]) if logs else None


def _nothing(_chance: random.Random, _target: Path, _history: History, _other: History) -> str:
    return "as it is"


def _remove_log(chance: random.Random, target: Path, _history: History, _other: History) -> str:
    path = _log(chance, target)
    if path is not None:
        path.unlink()
    return f"without {path and path.name}"


def _remove_first_logs(chance: random.Random, target: Path, _history: History, _other: History) -> str:
    logs = _files(target, "log")
    count = chance.randrange(len(logs) + 1)
    for path in logs[:count]:
        path.unlink()
    return f"without {count} first logs"


def _remove_last_logs(chance: random.Random, target: Path, _history: History, _other: History) -> str:
    logs = _files(target, "log")
    count = chance.randrange(1, max(len(logs), 2))
    for path in logs[len(logs) - count :]:
        path.unlink()
    return f"without {count} last logs"


def _empty(chance: random.Random, target: Path, _history: History, _other: History) -> str:
    path = chance.choice(_files(target, "log") + _files(target, "snapshot"))
    path.write_bytes(b"")
    return f"{path.name} empty"


def _cut(chance: random.Random, target: Path, _history: History, _other: History) -> str:
    path = _log(chance, target)
    if path is None:
        return "no log"
    content = path.read_bytes()
    written = len(content.rstrip(b"\0"))
    at = chance.choice([16, 4096, 8192, chance.randrange(written + 1), chance.randrange(written + 1)])
    path.write_bytes(content[:at])
    return f"{path.name} cut at {at}"


def _cut_between(chance: random.Random, target: Path, history: History, _other: History) -> str:
    path = _log(chance, target)
    ends = [end for _zxid, log, end in history.ends if path and log.name == path.name]
    if path is None or not ends:
        return "no log"
    at = chance.choice(ends)
    zeros = chance.choice([0, 100])
    path.write_bytes(path.read_bytes()[:at] + bytes(zeros))
    if zeros:
        # So a whole file looks that was copied earlier.
        os.utime(path, ns=(_SECOND, _SECOND))
    return f"{path.name} cut after a transaction at {at}"


def _cut_after_all(chance: random.Random, target: Path, _history: History, _other: History) -> str:
    """A disk ran full: one log is cut, and all later ones are empty."""
    logs = _files(target, "log")
    if not logs:
        return "no log"
    first = chance.randrange(len(logs))
    content = logs[first].read_bytes()
    at = chance.randrange(len(content.rstrip(b"\0")) + 1)
    logs[first].write_bytes(content[:at])
    for path in logs[first + 1 :]:
        path.write_bytes(b"")
    return f"{logs[first].name} cut at {at}, the later ones empty"


def _cut_snapshot(chance: random.Random, target: Path, _history: History, _other: History) -> str:
    snapshots = _files(target, "snapshot")
    if not snapshots:
        return "no snapshot"
    path = chance.choice([*snapshots, snapshots[-1]])
    content = path.read_bytes()
    path.write_bytes(content[: chance.randrange(len(content) + 1)])
    os.utime(path, ns=(_SECOND, _SECOND))
    return f"{path.name} cut"


def _stale_logs(chance: random.Random, target: Path, history: History, _other: History) -> str:
    """The logs as they were around the beginning of the newest snapshot, with their time."""
    snapshots = _files(target, "snapshot")
    if not snapshots or not history.ends:
        return "no snapshot"
    snapshot = snapshots[-1]
    zxids = [zxid for zxid, _path, _end in history.ends]
    middle = next((index for index, zxid in enumerate(zxids) if zxid >= number(snapshot)), len(zxids) - 1)
    index = min(max(middle + chance.randrange(-5, 200), 0), len(zxids) - 1)
    zxid, last, end = history.ends[index]
    for path in _files(target, "log"):
        if number(path) > number(last):
            path.unlink()
        elif path.name == last.name:
            path.write_bytes(last.read_bytes()[:end] + bytes(4096))
        if path.exists():
            earlier = snapshot.stat().st_mtime_ns - chance.choice([1, 10**6, 10**9])
            os.utime(path, ns=(earlier, earlier))
    return f"logs as old as 0x{zxid:x}, before {snapshot.name} was finished"


def _earlier_logs(chance: random.Random, target: Path, history: History, _other: History) -> str:
    """The logs of an earlier copy."""
    if not history.copies:
        return "no copies"
    source = chance.choice(history.copies)
    for path in _files(target, "log"):
        path.unlink()
    for path in _files(source, "log"):
        shutil.copy2(path, target / "version-2" / path.name)
    return f"logs of {source.name}"


def _logs_of_other(chance: random.Random, target: Path, _history: History, other: History) -> str:
    for path in _files(target, "log"):
        path.unlink()
    for path in other.logs:
        shutil.copy2(path, target / "version-2" / path.name)
        os.utime(target / "version-2" / path.name)
    return "all logs of another ensemble"


def _log_of_other(chance: random.Random, target: Path, _history: History, other: History) -> str:
    own = _log(chance, target)
    path = chance.choice(other.logs)
    if own is not None and chance.random() < 0.7:
        own.unlink()
    shutil.copy2(path, target / "version-2" / path.name)
    os.utime(target / "version-2" / path.name)
    return f"{path.name} of another ensemble in place of {own and own.name}"


def _snapshot_of_other(chance: random.Random, target: Path, _history: History, other: History) -> str:
    snapshots = other.files("snapshot")
    for path in _files(target, "snapshot"):
        if chance.random() < 0.7:
            path.unlink()
    path = chance.choice(snapshots)
    shutil.copy2(path, target / "version-2" / path.name)
    return f"{path.name} of another ensemble"


def _blank_snapshot(chance: random.Random, target: Path, _history: History, _other: History) -> str:
    for path in _files(target, "snapshot"):
        path.unlink()
    write_empty(target)
    os.utime(target / "version-2" / "snapshot.0", ns=(_SECOND, _SECOND))
    return f"a blank snapshot.0, {_remove_first_logs(chance, target, _history, _other)}"


_CHANGES: tuple[Change, ...] = (
    _nothing,
    _remove_log,
    _remove_first_logs,
    _remove_last_logs,
    _empty,
    _cut,
    _cut,
    _cut_between,
    _cut_after_all,
    _cut_snapshot,
    _stale_logs,
    _stale_logs,
    _earlier_logs,
    _logs_of_other,
    _log_of_other,
    _snapshot_of_other,
    _blank_snapshot,
)
