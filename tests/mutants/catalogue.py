# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All mutants, room by room."""

from __future__ import annotations

from mutants import (
    binding,
    lease,
    move_aftermath,
    move_copies,
    move_lease,
    move_run,
    move_switch,
    move_to_cold,
    move_to_hot,
    shard_fence,
    state,
)
from mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *lease.MUTANTS,
    *binding.MUTANTS,
    *move_lease.MUTANTS,
    *move_to_cold.MUTANTS,
    *move_to_hot.MUTANTS,
    *move_copies.MUTANTS,
    *move_run.MUTANTS,
    *move_switch.MUTANTS,
    *move_aftermath.MUTANTS,
    *state.MUTANTS,
    *shard_fence.MUTANTS,
)
"""In the order of the rooms, from who may write to how bytes are read."""
