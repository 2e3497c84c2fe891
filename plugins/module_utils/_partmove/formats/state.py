# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The marker of a partition, the znode ``State``: in which ensemble a server looks for its parts.

Exactly the bytes ``COLD`` mean the cold ensemble. Anything else means the hot one, as does no marker at all.
"""

from __future__ import annotations

from enum import Enum

STATE = "State"
"""The child of ``block_numbers/<partition>`` that is the marker."""


class State(str, Enum):
    """What this collection makes a marker say; the value is also the word of plans, options and results.

    >>> State.COLD.data, State.named("cold")
    (b'COLD', <State.COLD: 'COLD'>)
    """

    COLD = "COLD"
    HOT = "HOT"

    @classmethod
    def named(cls, word: str) -> State:
        """The State of an option, in upper or lower case; raises ValueError for another word."""
        return cls(word.upper())

    @property
    def data(self) -> bytes:
        """The marker as the znode holds it."""
        return self.value.encode()


# A run asks hundreds of thousands of times.
_COLD = State.COLD.data


def is_cold(marker: bytes | None) -> bool:
    r"""Whether a server takes the partition with this marker for cold; None stands for no marker.

    >>> is_cold(b"COLD"), is_cold(b"COLD\n"), is_cold(None)
    (True, False, False)
    """
    return marker == _COLD


def marker_text(marker: bytes | None) -> str:
    """The marker as rows and messages have it, whatever its bytes; empty where there is none."""
    return "" if marker is None else marker.decode(errors="backslashreplace")
