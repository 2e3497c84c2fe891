# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a journal is told of partitions: which registrations a switch changes, and what a gate refused."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256

from ...shard.facts import PartitionFacts, RegisteredPart, state_text

Payload = tuple[bytes, tuple[tuple[str, bytes], ...]]
"""As `RegisteredPart.payload` has it."""


def switching(
    shard_path: str, partition: PartitionFacts, parts: Sequence[RegisteredPart], state_after: str
) -> dict[str, object]:
    """The fields of `Event.SWITCHING`. ``parts`` are those that go over; State has to be there.

    Replicas mostly register the same bytes, so that one digest is enough for all of them.
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
    """The bytes that register a part, for a repair. With the children of the legacy form they are many."""
    data, children = payload
    return {} if children else {"data": b64encode(data).decode()}


def digest_of(payload: Payload) -> str:
    """SHA-256 of the znodes of a part, in hexadecimal digits.

    Of each znode, the part itself and then its children, it takes the name (none for the part), a blank, the
    number of bytes, a newline, and the data.
    """
    data, children = payload
    digest = sha256(b" %d\n%b" % (len(data), data))
    for name, each in children:
        digest.update(b"%b %d\n%b" % (name.encode(), len(each), each))
    return digest.hexdigest()
