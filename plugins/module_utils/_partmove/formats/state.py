# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The marker of a partition: the znode ``State``, which selects the ensemble of the partition's part znodes.

Exactly the bytes ``COLD`` select the cold ensemble. All other bytes, and a missing marker, select the hot
ensemble.
"""

from __future__ import annotations

from enum import Enum

STATE = "State"
"""The name of the marker, a child of ``block_numbers/<partition>``."""


class State(str, Enum):
    """The markers written by this collection. The value is also the word in plans, options and results.

    >>> State.COLD.data, State.named("cold")
    (b'COLD', <State.COLD: 'COLD'>)
    """

    COLD = "COLD"
    HOT = "HOT"

    @classmethod
    def named(cls, word: str) -> State:
        """Return the State of a word in upper or lower case. Raises ValueError for other words."""
        return cls(word.upper())

    @property
    def data(self) -> bytes:
        """The data of the marker znode."""
        return self.value.encode()


# A run calls `is_cold` hundreds of thousands of times.
_COLD = State.COLD.data


def is_cold(marker: bytes | None) -> bool:
    r"""Whether a server treats a partition with this marker as cold. None: no marker.

    >>> is_cold(b"COLD"), is_cold(b"COLD\n"), is_cold(None)
    (True, False, False)
    """
    return marker == _COLD


def marker_text(marker: bytes | None) -> str:
    """Return the marker as text for rows and messages, with invalid bytes escaped; empty for no marker."""
    return "" if marker is None else marker.decode(errors="backslashreplace")
