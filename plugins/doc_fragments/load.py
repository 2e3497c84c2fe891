# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the options that say how much load a run may be."""

from __future__ import annotations


class ModuleDocFragment:
    """Fragments for modules that wait while an ensemble is in trouble, that write besides, or take long."""

    DOCUMENTATION = r"""
    options:
      max_latency:
        description:
          - Seconds that both ensembles may take to answer. When one takes longer, and five times as long as
            when the module began, the module pauses until it takes half of that again.
          - A module that writes also pauses while more than 500 requests wait at a member, and while a member
            has fallen behind the others, where members tell so by the four-letter word C(srvr).
          - With V(0) it never pauses.
        type: float
        default: 1.0
      give_up_after:
        description:
          - How long one pause may take, as seconds or with a unit such as V(90s) or V(10m). The module fails
            then, tells what it did so far, and can be run again to go on.
        type: str
        default: 10m
"""

    PARTS = r"""
    options:
      max_parts_per_second:
        description:
          - How many parts to work on in a second at most, over all replicas; V(0) for no limit. The parts of
            one partition are never divided.
          - Not used in check mode.
        type: int
        default: 0
"""

    PROGRESS = r"""
    options:
      progress_file:
        description: Set by the action plugin of this module, which shows the lines of it. Not for playbooks.
        type: path
"""
