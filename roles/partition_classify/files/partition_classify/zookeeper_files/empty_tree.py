# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The initial tree of every ZooKeeper server, in the snapshot format."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

EMPTY_TREE = Path("(the empty tree)")
"""Placeholder path for the snapshot of a server without snapshots: its log starts from the initial tree."""

# Header; no sessions; no ACLs; the root and the reserved znodes, without ACL; end marker.
_STORED = struct.pack(">qqqqqiiiqq", -1, *[0] * 9)
_RECORDS = b"".join(
    struct.pack(">i", len(path)) + path + struct.pack(">i", 0) + _STORED
    for path in (b"", b"/zookeeper", b"/zookeeper/quota")
)
_END = struct.pack(">i", 1) + b"/"
_CONTENT = b"ZKSN" + struct.pack(">iqii", 2, -1, 0, 0) + _RECORDS + _END
EMPTY_SNAPSHOT = _CONTENT + struct.pack(">q", zlib.adler32(_CONTENT)) + _END
"""Bytes of a snapshot of the initial tree."""

EMPTY_TREE_DIGEST = struct.pack(">iq", 2, 1371985504)
"""Digest of the initial tree as servers write it into transactions, with its version."""
