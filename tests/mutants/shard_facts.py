# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of what is pending, of where a partition is, and of what its parts are."""

from __future__ import annotations

from mutants.mutant import Mutant

_PENDING = "shard/pending.py"
_LOCATION = "shard/location.py"
_FACTS = "shard/facts.py"
_PARTS = "shard/parts.py"
_SHARED_STORAGE = "shard/shared_storage.py"

MUTANTS = (
    Mutant(
        "the log is read from behind the pointer on",
        _PENDING,
        "if _log_number(name, log) >= oldest]",
        "if _log_number(name, log) > oldest]",
        ("shard/test_pending.py::test_an_entry_is_pending_until_it_is_deleted",),
    ),
    Mutant(
        "the log is read from the pointer of the fastest replica on",
        _PENDING,
        "oldest = min((",
        "oldest = max((",
        ("shard/test_pending.py::test_pending_entries_are_grouped_by_partition",),
    ),
    Mutant(
        "entries of a replica that was added again are those of the former one",
        _PENDING,
        "        self._forget_replaced(fence.replicas)\n",
        "",
        ("shard/test_pending.py::test_entries_of_a_replica_added_again_are_read_again",),
    ),
    Mutant(
        "entries that concern the whole table are not seen",
        _PENDING,
        "        if entry.table_wide:\n",
        "        if entry.table_wide and entry.parts:\n",
        ("gates/test_shard.py::test_a_gate_that_trips[no_alter_pending0]",),
    ),
    Mutant(
        "a quorum insert that waits is not seen",
        _PENDING,
        "        named[entry.part.partition_id].append(status.path)\n",
        "",
        ("shard/test_pending.py::test_pending_entries_are_grouped_by_partition",),
    ),
    Mutant(
        "quorum inserts side by side are not seen",
        _PENDING,
        "folders = [layout.quorum_parallel, layout.quorum_failed_parts]",
        "folders = [layout.quorum_failed_parts]",
        ("gates/test_judge_alone.py",),
    ),
    Mutant(
        "parts that failed to get a quorum are not seen",
        _PENDING,
        "folders = [layout.quorum_parallel, layout.quorum_failed_parts]",
        "folders = [layout.quorum_parallel]",
        ("shard/test_pending.py::test_an_unknown_znode_is_refused_with_its_path",),
    ),
    Mutant(
        "a queue that is not the first is not read",
        _PENDING,
        "for queue, names in zip_strict(queues, queued) for name in names or ()]",
        "for queue, names in zip_strict(queues[:1], queued[:1]) for name in names or ()]",
        ("shard/test_pending.py::test_entries_of_a_replica_added_again_are_read_again",),
    ),
    Mutant(
        "a partition was never cold when State is HOT",
        _LOCATION,
        "return state.stat.version == 0 and state.data != State.COLD.data",
        "return state.data != State.COLD.data",
        ("patched/parts/test_unneeded_copies.py::test_copies_of_a_partition_that_was_cold_wait",),
    ),
    Mutant(
        "a partition was never cold when State was written once",
        _LOCATION,
        "return state.stat.version == 0 and state.data != State.COLD.data",
        "return state.stat.version == 0",
        ("shard/test_location.py::test_state_shows_the_history_of_a_partition[COLD-0-False-False]",),
    ),
    Mutant(
        "parts in hot of a COLD partition are in their place",
        _LOCATION,
        "        if names.is_cold:\n            return Location.MIXED\n",
        "",
        ("shard/test_location.py::test_a_partition_that_servers_treat_as_cold[hot4-cold4-Location.MIXED]",),
    ),
    Mutant(
        "a partition with other parts on each replica is cold",
        _LOCATION,
        "return Location.COLD if names.are_even_in_cold else Location.UNEVEN",
        "return Location.COLD",
        ("shard/test_location.py::test_a_partition_that_servers_treat_as_cold[hot2-cold2-Location.UNEVEN]",),
    ),
    Mutant(
        "what something else left in cold is taken for what a drop left",
        _LOCATION,
        "is_hot = names.state is None or names.state.data == State.HOT.data",
        "is_hot = not names.is_cold",
        (
            (
                "shard/test_location.py::test_copies_alone_are_a_dropped_partition_only_by_state[-2-Location.STRAY]"
            ),
        ),
    ),
    Mutant(
        "a partition with one part in hot is not only in cold",
        _LOCATION,
        "if not all(is_covered",
        "if not any(is_covered",
        ("shard/test_location.py::test_partitions_with_a_part_only_in_cold[hot4-cold4-ids4]",),
    ),
    Mutant(
        "a part of another partition in hot stands for one in cold",
        _LOCATION,
        "hot.get(replica, {}).get(partition_id, ())",
        "[name for names in hot.get(replica, {}).values() for name in names] or parts",
        ("shard/test_location.py::test_partitions_with_a_part_only_in_cold[hot5-cold5-ids5]",),
    ),
    Mutant(
        "a partition that State says nothing of was brought back",
        _LOCATION,
        "return state is not None and state.data == State.HOT.data and not never_was_cold(state)",
        "return False",
        (
            "patched/parts/test_copies.py::test_copies_of_what_was_brought_back_stay_while_a_member_of_hot_lags",
        ),
    ),
    Mutant(
        "replicas have as many parts in cold, which are not the same",
        _FACTS,
        "return len({frozenset(parts) for parts in self.cold.values()}) == 1",
        "return len({len(parts) for parts in self.cold.values()}) == 1",
        ("shard/test_location.py::test_a_partition_that_servers_treat_as_cold[hot1-cold1-Location.UNEVEN]",),
    ),
    Mutant(
        "children are no part of what a copy must equal",
        _FACTS,
        "        if not self.children:\n",
        "        if not self.children or self.children:\n",
        ("shard/test_facts.py::test_the_payload_is_the_data_of_the_part_znode_and_its_children",),
    ),
    Mutant(
        "a part of another replica in hot stands for one in cold",
        _FACTS,
        "for part in parts\n"
        "            if not is_covered(part.name, [each.name for each in self.hot[replica]])",
        "for part in parts\n            if not is_covered(part.name, [each.name for each in self.hot_parts])",
        ("shard/test_facts.py::test_a_part_in_hot_of_another_replica_counts_as_only_in_cold",),
    ),
    Mutant(
        "a part whose children are being written is read as it is",
        _PARTS,
        "if znode is not None and len(children.get(znode.path, ())) >= znode.stat.num_children",
        "if znode is not None",
        ("shard/test_parts.py::test_a_part_deleted_during_the_read_is_left_out[columns]",),
    ),
    Mutant(
        "zero-copy locks of the table are not seen",
        _SHARED_STORAGE,
        "folders = [*layout.zero_copy(begun.result.children)]",
        "folders = [*layout.zero_copy([])]",
        ("shard/test_shared_storage.py::test_locks_below_the_shard_path_are_found",),
    ),
    Mutant(
        "zero-copy locks by the UUID of the table are not seen",
        _SHARED_STORAGE,
        "kinds = (yield Query(children=[ZERO_COPY_ROOT])).children[0] or ()",
        "kinds = ()",
        ("shard/test_shared_storage.py::test_locks_of_later_servers_are_found_by_the_id_of_the_table",),
    ),
    Mutant(
        "pinned parts are not seen",
        _SHARED_STORAGE,
        "if pinned is not None and not _pins_nothing(pinned):",
        "if pinned is not None and not pinned.path:",
        ("shard/test_shared_storage.py::test_only_the_initial_content_pins_no_parts[[]-True]",),
    ),
    Mutant(
        "moves to another shard are not seen",
        _SHARED_STORAGE,
        "for name in moves or ())",
        "for name in ())",
        ("shard/test_shared_storage.py::test_locks_below_the_shard_path_are_found",),
    ),
    Mutant(
        "what is not understood pins nothing",
        _SHARED_STORAGE,
        "    except ValueError:\n        return False",
        "    except ValueError:\n        return True",
        ("shard/test_shared_storage.py::test_only_the_initial_content_pins_no_parts[{-True]",),
    ),
)
