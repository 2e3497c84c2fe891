# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Known and unknown transactions."""

from __future__ import annotations

from pathlib import Path

import pytest

from partition_classify.zookeeper_files.damage import DamagedFile
from support.classify.members import names_of, write_snapshot
from support.files import log_files as log
from support.files.log_files import LogWriter
from support.files.member_files import tree_of


@pytest.mark.parametrize(
    ("kind", "body"),
    [(99, b"?"), (log.CREATE, b"\0\0\0\x09/a"), (log.DELETE, log.delete("/a/x") + b"more")],
    ids=["type", "length", "rest"],
)
def test_unknown_transaction_is_refused(tmp_path: Path, kind: int, body: bytes) -> None:
    write_snapshot(tmp_path)
    writer = LogWriter(11)
    writer.add(log.CREATE, log.create("/a/x"))
    offset = writer.add(kind, body)
    path = writer.write(tmp_path)
    with pytest.raises(
        DamagedFile, match=f"^{path}: transaction 0xc of type {kind} cannot be parsed .* at byte {offset}"
    ):
        names_of(tmp_path)


def test_create_of_a_server_before_3_4(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    writer = LogWriter(11)
    writer.add(log.CREATE, log.create_before_3_4("/a/x"))
    writer.write(tmp_path)
    assert names_of(tmp_path) == ["x"]


def test_acl_of_a_deleted_znode_does_not_affect_a_later_one(tmp_path: Path) -> None:
    """The snapshot has the later znode, and the log does not show that a session ended the first."""
    write_snapshot(tmp_path, "x", newest=12)
    writer = LogWriter(11)
    writer.add(log.SET_ACL, log.set_acl("/a/x", 1))
    writer.add(log.CREATE, log.create("/a/x", b"x" * 100))
    writer.write(tmp_path)
    assert tree_of(tmp_path, "/a")["/a/x"].aversion == 0
