# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of options for the load of a run."""

from __future__ import annotations


class ModuleDocFragment:
    """Fragments for modules with pauses during overload, with a limit on parts, or with progress."""

    DOCUMENTATION = r"""
    options:
      latency_target:
        description:
          - Seconds that the run may add to the latency of each ensemble. The module measures the latency all
            the time, and adapts how many operations its requests have, and how many of them are in flight.
          - With V(0) the module runs at full speed.
        type: float
        default: 0.005
      max_latency:
        description:
          - Latency limit of both ensembles in seconds. The module pauses if the latency of an ensemble
            exceeds both this limit and five times the latency at the start. The pause ends when the latency
            falls to half of the higher value.
          - A module that writes also pauses while more than 500 requests wait at a member, or a member lags
            behind the others. Members report these values by the four-letter word C(srvr).
          - With V(0) the module never pauses.
        type: float
        default: 1.0
      give_up_after:
        description:
          - Maximum duration of one pause, in seconds or with a unit such as V(90s) or V(10m). After a longer
            pause the module fails and returns the result so far. Run again to continue.
        type: str
        default: 10m
"""

    PARTS = r"""
    options:
      max_parts_per_second:
        description:
          - Maximum number of parts to process per second, over all replicas; V(0) for no limit. The parts of
            one partition are never divided.
          - Ignored in check mode.
        type: int
        default: 0
"""

    PROGRESS = r"""
    options:
      progress_file:
        description: Internal. The action plugin of this module sets the option and shows the lines of the
          file. Not for playbooks.
        type: path
"""
