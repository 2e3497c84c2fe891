# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All mutants, room by room."""

from __future__ import annotations

from mutants import (
    audit,
    binding,
    denied,
    formats,
    gates_partition,
    gates_servers,
    gates_shard,
    health,
    identity,
    lease,
    ledger,
    ledger_guard,
    move_copies,
    move_lease,
    move_post_switch_check,
    move_run,
    move_switch,
    move_to_cold,
    move_to_hot,
    move_unregistered,
    plan,
    repair,
    set_state,
    shard_facts,
    shard_fence,
    shard_listed,
    timed_lease,
    tree,
    twin,
    twin_audit,
    twin_table_switch,
    zookeeper_sync,
)
from mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *lease.MUTANTS,
    *timed_lease.MUTANTS,
    *binding.MUTANTS,
    *identity.MUTANTS,
    *move_lease.MUTANTS,
    *move_to_cold.MUTANTS,
    *move_to_hot.MUTANTS,
    *plan.MUTANTS,
    *move_copies.MUTANTS,
    *move_run.MUTANTS,
    *move_unregistered.MUTANTS,
    *repair.MUTANTS,
    *move_switch.MUTANTS,
    *move_post_switch_check.MUTANTS,
    *set_state.MUTANTS,
    *twin.MUTANTS,
    *twin_audit.MUTANTS,
    *twin_table_switch.MUTANTS,
    *shard_fence.MUTANTS,
    *shard_listed.MUTANTS,
    *shard_facts.MUTANTS,
    *gates_shard.MUTANTS,
    *gates_partition.MUTANTS,
    *gates_servers.MUTANTS,
    *ledger.MUTANTS,
    *ledger_guard.MUTANTS,
    *audit.MUTANTS,
    *denied.MUTANTS,
    *health.MUTANTS,
    *tree.MUTANTS,
    *formats.MUTANTS,
    *zookeeper_sync.MUTANTS,
)
"""In the order of the rooms, from who may write to how bytes are read."""
