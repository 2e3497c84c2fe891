# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a snapshot of Keeper has before and after its znodes."""

from __future__ import annotations

from typing import NamedTuple

from .content import LATEST_VERSION
from .damage import damaged, unknown_format
from .fields import FieldReader

FIRST_WITH_ACL_MAP = 1
FIRST_WITH_ZXID = 5
FIRST_WITH_SHORT_ACL_ID = 7
"""Versions of the format with which a change begins."""

_INDEX_AT = 1
_NUMBER = 8


class SnapshotHeader(NamedTuple):
    """The beginning of a snapshot.

    log_index: the last entry of the Raft log that the snapshot contains.
    zxid: the last transaction.
    """

    version: int
    log_index: int
    zxid: int


def read_header(fields: FieldReader) -> SnapshotHeader:
    """Read everything up to the number of znodes, the ACL map included.

    Raises DamagedFile for a torn file and for an unknown version.
    """
    version = fields.number(1)
    if version > LATEST_VERSION:
        raise unknown_format(
            fields.path, 0, f"the format version is {version}, known are 0 to {LATEST_VERSION}"
        )
    log_index = _read_metadata(fields)
    zxid = log_index
    if version >= FIRST_WITH_ZXID:
        zxid = fields.number(signed=True)
        has_digest = fields.number(1) != 0
        if has_digest:
            fields.number()
    if zxid < 0:
        raise damaged(fields.path, fields.offset, f"the last transaction is {zxid}")
    _next_session = fields.number(signed=True)
    if version >= FIRST_WITH_ACL_MAP:
        _skip_acl_map(fields, version)
    return SnapshotHeader(version, log_index, zxid)


def read_end(fields: FieldReader, version: int) -> None:
    """Read everything after the znodes: the sessions, and the configuration of the cluster if present.

    Raises DamagedFile for a torn file, and if bytes follow.
    """
    for _session in range(fields.number()):
        fields.take(_NUMBER + _NUMBER)
        if version >= FIRST_WITH_ACL_MAP:
            for _identity in range(fields.number()):
                fields.text()
                fields.text()
    if not fields.is_at_end():
        fields.text()
    if not fields.is_at_end():
        raise damaged(fields.path, fields.offset, "unknown bytes follow the sessions")


def skip_acl(fields: FieldReader) -> None:
    """Skip one ACL: a list of permissions, scheme and identity."""
    for _entry in range(fields.number()):
        fields.take(4)
        fields.text()
        fields.text()


def _read_metadata(fields: FieldReader) -> int:
    """Return the last index, from what the Raft library stores: type, last index, term, size, cluster."""
    offset, metadata = fields.offset, fields.text()
    if len(metadata) < _INDEX_AT + _NUMBER:
        raise damaged(fields.path, offset, "the index of the last log entry is missing")
    return int.from_bytes(metadata[_INDEX_AT : _INDEX_AT + _NUMBER], "little")


def _skip_acl_map(fields: FieldReader, version: int) -> None:
    for _acl in range(fields.number()):
        fields.take(4 if version >= FIRST_WITH_SHORT_ACL_ID else _NUMBER)
        skip_acl(fields)
