# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of what a run takes lists of parts to be without reading them again."""

from __future__ import annotations

from mutants.mutant import Mutant

_KNOWN = "shard/listing_cache.py"
_LISTED = "shard/part_listing.py"
_PARTS_READ = "shard/payload_cache.py"
_TESTS = "shard/test_part_listing.py"
_KNOWN_TESTS = "shard/test_listing_cache.py"

MUTANTS = (
    Mutant(
        "parts that others created and deleted are not seen",
        _KNOWN,
        "            and now.cversion == stat.cversion + self._created + self._deleted\n",
        "",
        (f"{_TESTS}::test_a_folder_changed_by_another_client_is_listed_again[merge]",),
    ),
    Mutant(
        "a list is known by the count of a server that does not count deletions",
        _KNOWN,
        "            and now.num_children == stat.num_children + self._created - self._deleted\n",
        "",
        (f"{_TESTS}::test_another_server_that_counts_creations_only",),
    ),
    Mutant(
        "the parts of a replica that was added again are those of the former one",
        _KNOWN,
        "            now.czxid == stat.czxid\n            and now.cversion",
        "            now.cversion",
        (f"{_TESTS}::test_a_folder_changed_by_another_client_is_listed_again[make_again]",),
    ),
    Mutant(
        "a list is kept with a stat that was read after it",
        _LISTED,
        "at_once)\n        stats = dict(zip_strict(folders, answer.znodes))\n",
        "at_once)\n        stats = dict(zip_strict(folders, (yield Query(folders)).znodes))\n",
        (f"{_TESTS}::test_a_part_created_while_the_folder_is_listed_for_the_first_time",),
    ),
    Mutant(
        "partitions that nobody asked for are taken to have no parts",
        _LISTED,
        "        if not requested <= cached.partitions:\n",
        "        if not cached.partitions:\n",
        (f"{_TESTS}::test_parts_of_other_partitions_are_cached_too",),
    ),
    Mutant(
        "a list is known by a write that was under way before its stat was read",
        _LISTED,
        "is_calm = ended == begun == self._begun",
        "is_calm = begun == self._begun",
        (
            f"{_TESTS}::test_a_write_that_ends_while_the_stat_is_read[begin_before]",
            f"{_TESTS}::test_a_write_in_progress_while_the_folder_is_listed",
        ),
    ),
    Mutant(
        "a list is known by a write that began while its stat was read",
        _LISTED,
        "is_calm = ended == begun == self._begun",
        "is_calm = ended == begun",
        (f"{_TESTS}::test_a_write_that_ends_while_the_stat_is_read[begin_after]",),
    ),
    Mutant(
        "a list that was read during a write is kept",
        _LISTED,
        "        if not is_calm:\n            self._cached.clear()\n",
        "",
        (f"{_TESTS}::test_a_write_in_progress_while_the_folder_is_listed",),
    ),
    Mutant(
        "what this run created is forgotten when other names are picked",
        _KNOWN,
        "            texts += sorted(each for each, exists in changed.items() if exists)\n",
        "",
        (f"{_TESTS}::test_the_next_run_uses_the_listing_of_this_run",),
    ),
    Mutant(
        "what this run deleted is there when other names are picked",
        _KNOWN,
        "            texts = [each for each in texts if each not in changed]\n",
        "",
        (f"{_TESTS}::test_the_next_run_uses_the_listing_of_this_run",),
    ),
    Mutant(
        "data are those of a part that has been replaced",
        _PARTS_READ,
        "        return {} if entry is None or entry.listing is not listing else entry.parts\n",
        "        return {} if entry is None else entry.parts\n",
        (f"{_TESTS}::test_data_of_a_replaced_znode_are_read_again[replaced]",),
    ),
    Mutant(
        "data are those of a part that this run has replaced",
        _PARTS_READ,
        "            entry.parts.pop(text, None)\n",
        "            pass\n",
        (f"{_TESTS}::test_data_of_a_replaced_znode_are_read_again[replaced_by_the_run]",),
    ),
    Mutant(
        "data are kept that were read before the list",
        _LISTED,
        "            if reread and are_all and",
        "            if reread and",
        (f"{_TESTS}::test_data_read_before_the_listing_are_not_cached",),
    ),
    Mutant(
        "what collided is not read again",
        "patched/move/switch.py",
        "reread=not first",
        "reread=False",
        ("patched/move/test_switch.py::test_a_partition_that_changed_is_handed_back",),
    ),
    Mutant(
        "the switch to hot relies on the versions of parts that it does not delete",
        "patched/move/to_hot.py",
        "    deletes_read_parts = False\n",
        "    deletes_read_parts = True\n",
        ("patched/move/test_to_hot.py::test_the_multi_that_brings_a_partition_back",),
    ),
    Mutant(
        "a write whose answer was lost is counted on",
        "patched/parts/leased_shard.py",
        "                if isinstance(each, Committed)\n            ]",
        "                if not isinstance(each, Rejected)\n            ]",
        ("patched/parts/test_leased_shard.py::test_a_write_whose_answer_is_lost_is_not_counted_on",),
    ),
    Mutant(
        "names in cold are those of the table that was there before",
        "shard/reader.py",
        "            self._cache.renew(fence.shard.stat.czxid)\n",
        "",
        ("shard/test_reader.py::test_names_of_a_recreated_table_are_parsed_again",),
    ),
    Mutant(
        "names of some partitions are not found between the others",
        _KNOWN,
        "max(each + _AFTER_ALL for each in partitions)",
        "max(partitions) + _AFTER_ALL",
        (f"{_TESTS}::test_names_are_selected_by_their_partition[names of today]",),
    ),
    Mutant(
        "what this run created is looked for in names that are not sorted",
        _KNOWN,
        "            texts.sort()\n",
        "",
        (f"{_TESTS}::test_a_part_created_by_the_run_before_other_names_is_selected",),
    ),
    Mutant(
        "children that were replaced count as those that were read",
        _PARTS_READ,
        "if znode != before}",
        "if znode is None or znode.data != before.data}",
        ("shard/test_part_listing.py::test_other_children_are_read_again[children_replaced]",),
    ),
    Mutant(
        "nobody looks whether parts have other children",
        _PARTS_READ,
        "if part is not None and part.children]",
        "if part is not None and part.children and not part.znode.path]",
        (
            "shard/test_part_listing.py::test_other_children_are_read_again[another_child]",
            "shard/test_part_listing.py::test_children_replaced_during_the_read_are_read_again",
        ),
    ),
    Mutant(
        "a member that was not seen to hold what is known is taken to",
        _LISTED,
        "if self._matched_before(each, member)]",
        "if each in self._cached]",
        (f"{_KNOWN_TESTS}::test_a_member_with_other_parts_is_listed_each_time",),
    ),
    Mutant(
        "what a member lists is taken to be what is known",
        _LISTED,
        " and self._cached[folder].equals(names or ())",
        "",
        (f"{_KNOWN_TESTS}::test_a_member_with_other_parts_is_listed_each_time",),
    ),
    Mutant(
        "a member that was seen once is not looked at again",
        _LISTED,
        "        changed = [each for each in matched if not self._is_current(each, stats[each])]\n",
        "        changed: list[str] = []\n",
        (f"{_KNOWN_TESTS}::test_a_folder_changed_by_another_client_is_listed_until_it_is_cached[replace]",),
    ),
)
