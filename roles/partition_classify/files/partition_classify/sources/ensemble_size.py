# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How large a whole ensemble is, with all of its znodes. People are told so; nothing is decided by it."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from typing import NamedTuple

from ..zookeeper_files.folders import DataFolder
from ..zookeeper_files.member import choose_member
from ..zookeeper_files.nodes import RECORD_BYTES
from ..zookeeper_files.replay import Replay
from ..zookeeper_files.snapshot import SnapshotScan

_SECONDS = 5.0
_PORT = 2181


class EnsembleSize(NamedTuple):
    """How many znodes an ensemble has, and the bytes they take up in a snapshot, None if not known."""

    znodes: int
    snapshot_bytes: int | None


def size_of_running(hosts: Iterable[str]) -> EnsembleSize | None:
    """The size that the first member to answer tells to ``mntr``, or else to ``srvr``; None if none answers.

    Many members are told not to answer to ``mntr``, and those that only speak TLS answer to neither.
    """
    for host in hosts:
        answer = _asked(host, b"mntr")
        znodes = _number(r"^zk_znode_count\t(\d+)$", answer)
        data = _number(r"^zk_approximate_data_size\t(\d+)$", answer)
        if znodes is not None and data is not None:
            return EnsembleSize(znodes, data + RECORD_BYTES * znodes)
        znodes = _number(r"^Node count: (\d+)$", _asked(host, b"srvr"))
        if znodes is not None:
            return EnsembleSize(znodes, None)
    return None


def size_of_files(folders: Iterable[DataFolder], *, older_snapshot: bool = False) -> EnsembleSize:
    """The size that the snapshots of all folders have together; the log after them is not counted.

    ``older_snapshot`` is as for `choose_member`; which snapshot is read the inventory tells. Raises
    EnsembleError.
    """
    znodes, size = 0, 0
    for folder in folders:
        _member, found = choose_member(
            folder, _nothing, _counted, passed_over=lambda _error: None, older_snapshot=older_snapshot
        )
        znodes += found.znodes
        size += found.snapshot_bytes or 0
    return EnsembleSize(znodes, size)


def _nothing(_path: bytes) -> bool:
    return False


def _counted(scan: SnapshotScan, _replay: Replay) -> EnsembleSize:
    znodes = sum(1 for _record in scan.records())
    return EnsembleSize(znodes, scan.end_of_records)


def _asked(host: str, word: bytes) -> str:
    """The answer to a four-letter word; empty when there is none, because it is only told to people."""
    name, _colon, port = host.rpartition(":")
    try:
        with socket.create_connection((name.strip("[]"), int(port or _PORT)), _SECONDS) as connection:
            connection.settimeout(_SECONDS)
            connection.sendall(word)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
    except OSError:
        return ""
    return answer.decode(errors="replace")


def _number(pattern: str, answer: str) -> int | None:
    found = re.search(pattern, answer, re.MULTILINE | re.ASCII)
    return int(found[1]) if found else None
