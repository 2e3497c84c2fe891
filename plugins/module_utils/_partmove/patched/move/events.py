# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The journal fields of a partition about to be switched: its part znodes, and its State before and after."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256

from ...shard.facts import PartitionFacts, RegisteredPart, state_text

Payload = tuple[bytes, tuple[tuple[str, bytes], ...]]
"""As in `RegisteredPart.payload`."""


def switching(
    shard_path: str, partition: PartitionFacts, parts: Sequence[RegisteredPart], state_after: str
) -> dict[str, object]:
    """Return the fields of `Event.SWITCHING`. ``parts``: the parts to move. The State znode has to exist.

    Replicas mostly register the same bytes, so one digest serves all of them.
    """
    replicas: dict[tuple[str, Payload], list[str]] = {}
    for part in parts:
        replicas.setdefault((part.name.text, part.payload), []).append(part.replica)
    return {
        "shard_path": shard_path,
        "partition": partition.partition_id,
        "state": state_after,
        "state_before": state_text(partition.state),
        "state_version": 0 if partition.state is None else partition.state.stat.version,
        "parts": [
            {"part": name, "digest": digest_of(payload), "replicas": names, **_data(payload)}
            for (name, payload), names in replicas.items()
        ],
    }


def _data(payload: Payload) -> dict[str, str]:
    """Return the bytes of the part znode for a repair, except in the legacy form with its large children."""
    data, children = payload
    return {} if children else {"data": b64encode(data).decode()}


def digest_of(payload: Payload) -> str:
    """Return the SHA-256 of the znodes of a part, in hexadecimal digits.

    The digest covers the part znode, then its children. For each znode these are the name (empty for the
    part), a blank, the number of bytes, a newline, and the data.
    """
    data, children = payload
    digest = sha256(b" %d\n%b" % (len(data), data))
    for name, each in children:
        digest.update(b"%b %d\n%b" % (name.encode(), len(each), each))
    return digest.hexdigest()
