# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the fence and of what is read behind it."""

from __future__ import annotations

from mutants.mutant import Mutant

_FENCE = "shard/fence.py"
_LOOKS = "shard/reads.py"
_PENDING = "shard/pending.py"
_READER = "shard/reader.py"

MUTANTS = (
    Mutant(
        "the fence does not check the log",
        _FENCE,
        "shard = (self.log, self.mutations, self.replicas_parent, self.columns, self.metadata)",
        "shard = (self.mutations, self.replicas_parent, self.columns, self.metadata)",
        ("shard/test_fence.py::test_the_fence_fails_after_a_change_that_affects_parts[a drop]",),
    ),
    Mutant(
        "the fence does not check the mutations",
        _FENCE,
        "shard = (self.log, self.mutations, self.replicas_parent, self.columns, self.metadata)",
        "shard = (self.log, self.replicas_parent, self.columns, self.metadata)",
        (("shard/test_fence.py::test_the_fence_fails_after_a_change_that_affects_parts[a mutation]"),),
    ),
    Mutant(
        "the fence does not check the replicas",
        _FENCE,
        "shard = (self.log, self.mutations, self.replicas_parent, self.columns, self.metadata)",
        "shard = (self.log, self.mutations, self.columns, self.metadata)",
        (("shard/test_fence.py::test_the_fence_fails_after_a_change_that_affects_parts[one more replica]"),),
    ),
    Mutant(
        "the fence does not check the columns",
        _FENCE,
        "shard = (self.log, self.mutations, self.replicas_parent, self.columns, self.metadata)",
        "shard = (self.log, self.mutations, self.replicas_parent, self.metadata)",
        ("shard/test_fence.py::test_the_fence_fails_after_a_change_of_the_definition[columns]",),
    ),
    Mutant(
        "the fence does not check the metadata",
        _FENCE,
        "shard = (self.log, self.mutations, self.replicas_parent, self.columns, self.metadata)",
        "shard = (self.log, self.mutations, self.replicas_parent, self.columns)",
        ("shard/test_fence.py::test_the_fence_fails_after_a_change_of_the_definition[metadata]",),
    ),
    Mutant(
        "the fence does not check the host of each replica",
        _FENCE,
        "for znode in (each.host, each.is_lost)]",
        "for znode in (each.is_lost,)]",
        (("shard/test_fence.py::test_the_fence_fails_after_a_change_that_affects_parts[a server starts]"),),
    ),
    Mutant(
        "the fence does not check whether a replica is lost",
        _FENCE,
        "for znode in (each.host, each.is_lost)]",
        "for znode in (each.host,)]",
        (("shard/test_fence.py::test_the_fence_fails_after_a_change_that_affects_parts[a replica is lost]"),),
    ),
    Mutant(
        "the fence of old servers does not check the log pointers",
        _FENCE,
        "if self.log.stat.version == 0 else []",
        "if self.log.stat.version < 0 else []",
        (("shard/test_fence.py::test_log_pointers_replace_an_unused_version_of_the_log"),),
    ),
    Mutant(
        "the fence checks the first replica only",
        _FENCE,
        "for each in self.replicas for znode in",
        "for each in self.replicas[:1] for znode in",
        (("shard/test_fence.py::test_the_fence_fails_after_a_change_that_affects_parts[one replica less]"),),
    ),
    Mutant(
        "the fence is read after queues and log",
        _READER,
        "            fence=fence.checks,",
        "            fence=ShardReader(self._hot, self._cold, self._layout, self.root)._read_hot(())"
        ".fence.result.checks,",
        ("shard/test_reader_behind.py::test_an_entry_assigned_after_the_read_of_the_log_fails_the_fence",),
    ),
    Mutant(
        "hot is read before it has caught up",
        _READER,
        "        self._hot.sync(layout.path)\n",
        "",
        ("shard/test_reader_behind.py::test_hot_catches_up_first",),
    ),
    Mutant(
        "cold is read before it has caught up",
        _READER,
        "        self._cold.sync(self._layout.path)\n",
        "",
        ("patched/move/test_switch_lost.py::test_a_switch_is_not_undone_where_cold_is_behind_a_drop",),
    ),
    Mutant(
        "cold catches up before the fence is read",
        _READER,
        "        in_hot = self._read_hot(partition_ids)\n"
        "        # After the fence: parts removed from cold before the fence must not be read any more.\n"
        "        self._cold.sync(self._layout.path)\n",
        "        self._cold.sync(self._layout.path)\n        in_hot = self._read_hot(partition_ids)\n",
        ("patched/parts/test_leased_shard.py::test_cold_is_waited_for_after_the_versions_were_read",),
    ),
    Mutant(
        "entries of a table that was made again are those of the former one",
        _READER,
        "            self._entries.forget()\n",
        "",
        ("patched/move/test_run.py::test_entries_of_a_table_that_was_made_again_are_read",),
    ),
    Mutant(
        "znodes of the table that are not known are not seen",
        _READER,
        "unknown_children=unknown_table_children(set(fence.children) - {_DROPPED})",
        "unknown_children=()",
        ("patched/move/test_to_hot_refusals.py::test_why_a_partition_was_not_brought_back[known_layout]",),
    ),
    Mutant(
        "znodes of a replica that are not known are not seen",
        _FENCE,
        "unknown_children=unknown_replica_children(children)",
        "unknown_children=()",
        ("gates/test_shard.py::test_a_gate_that_trips[known_layout1]",),
    ),
    Mutant(
        "parts in cold of replicas that are gone from hot are not seen",
        _LOOKS,
        "for name in existing or () if name not in replicas]",
        "for name in existing or () if name in replicas]",
        ("shard/test_reader.py::test_parts_in_cold_of_every_replica_count[<lambda>-True1]",),
    ),
    Mutant(
        "a partition that another run moves is told by halves",
        _READER,
        "if state != read.partitions[each].state",
        "if False",
        ("shard/test_reader.py::test_a_partition_switched_during_the_read_is_left_out",),
    ),
    Mutant(
        "parts that merged while they were read are not read again",
        "shard/part_listing.py",
        "            if are_all:\n                break\n",
        "            break\n",
        ("shard/test_reader.py::test_parts_merged_during_the_read_are_read_again",),
    ),
    Mutant(
        "parts of a partition that is COLD and in hot only are not found",
        _READER,
        "return ColdPartitions(sorted(in_cold | (marked & in_hot)), sorted(marked - in_hot))",
        "return ColdPartitions(sorted(in_cold), sorted(marked - in_hot))",
        ("shard/test_reader.py::test_partitions_not_only_in_hot[both]",),
    ),
    Mutant(
        "mutations are read before the fence",
        _LOOKS,
        "        read_together(hot, [*self._readings, self.lease])\n",
        "        rest = [each for each in self._readings if each is not self.mutations]\n"
        "        read_together(hot, [self.mutations, *rest, self.lease])\n",
        ("shard/test_reads.py::test_a_mutation_added_after_the_read_of_mutations_fails_the_fence",),
    ),
    Mutant(
        "the replicas are not listed again after their versions",
        _READER,
        "            if read.is_of_all_replicas:\n                return read\n",
        "            return read\n",
        ("shard/test_reads.py::test_a_replica_added_while_the_fence_is_read",),
    ),
    Mutant(
        "a lock that is given up while it is looked at is of no insert",
        _PENDING,
        "if lock is None or _is_in_flight(lock, holders):",
        "if lock is not None and _is_in_flight(lock, holders):",
        ("shard/test_reads.py::test_an_insert_that_ends_after_the_listing_of_parts_is_in_flight",),
    ),
)
