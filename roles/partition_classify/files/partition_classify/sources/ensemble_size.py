# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Total size of an ensemble, for the report only; no decision depends on it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from olap_partmove._zookeeper.four_letters import ask
from olap_partmove._zookeeper.options import EnsembleOptions

from ..zookeeper_files.folders import DataFolder
from ..zookeeper_files.member import choose_member
from ..zookeeper_files.nodes import RECORD_BYTES
from ..zookeeper_files.replay import LogReplay
from ..zookeeper_files.snapshot import SnapshotScan

_SECONDS = 5.0


class EnsembleSize(NamedTuple):
    """Number of znodes of an ensemble, and their bytes in a snapshot; None if unknown."""

    znodes: int
    snapshot_bytes: int | None


def size_of_live(options: EnsembleOptions) -> EnsembleSize | None:
    """Return the size reported by the first answering member (``mntr``, else ``srvr``); None if none answers.

    Many members disallow ``mntr``.
    """
    for host in options.hosts:
        answer = ask(options, host, b"mntr", _SECONDS)
        if answer is None:
            continue
        znodes = _number(r"^zk_znode_count\t(\d+)$", answer)
        data = _number(r"^zk_approximate_data_size\t(\d+)$", answer)
        if znodes is not None and data is not None:
            return EnsembleSize(znodes, data + RECORD_BYTES * znodes)
        znodes = _number(r"^Node count: (\d+)$", ask(options, host, b"srvr", _SECONDS) or "")
        if znodes is not None:
            return EnsembleSize(znodes, None)
    return None


def size_of_files(folders: Iterable[DataFolder], *, older_snapshot: bool = False) -> EnsembleSize:
    """Return the total size of the folders' snapshots, without log changes.

    ``older_snapshot``: see `choose_member`; skipped snapshots are not logged, the inventory logs them. Raises
    EnsembleError.
    """
    znodes, size = 0, 0
    for folder in folders:
        _member, snapshot_size = choose_member(
            folder, _no_path, _count_records, on_skipped=lambda _error: None, older_snapshot=older_snapshot
        )
        znodes += snapshot_size.znodes
        size += snapshot_size.snapshot_bytes or 0
    return EnsembleSize(znodes, size)


def _no_path(_path: bytes) -> bool:
    return False


def _count_records(scan: SnapshotScan, _replay: LogReplay) -> EnsembleSize:
    znodes = sum(1 for _record in scan.records())
    return EnsembleSize(znodes, scan.end_of_records)


def _number(pattern: str, answer: str) -> int | None:
    match = re.search(pattern, answer, re.MULTILINE | re.ASCII)
    return int(match[1]) if match else None
