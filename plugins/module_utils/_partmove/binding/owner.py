# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides whose parts a cold ensemble has at a shard path: the one answer to "is this ours?"."""

from __future__ import annotations

from enum import Enum


class Owner(Enum):
    """Whose parts the cold ensemble has at a shard path, according to the marker in the path's cold znode."""

    OURS = "ours"
    """The table that hot has at the path now."""
    FORMER = "former"
    """A table that this hot ensemble had at the path before."""
    NOBODY = "nobody"
    """There is no marker: the parts, if any, come from another tool."""
    OTHER_CLUSTER = "other_cluster"
    """A table of another hot ensemble, or of one that nothing proves to be this one."""
