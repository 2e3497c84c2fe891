# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of parsers, where what is read wrongly is unsafe."""

from __future__ import annotations

from mutants.mutant import Mutant

_NAMES = "formats/names.py"
_LOG_ENTRY = "formats/log_entry.py"
_BLOCK_LOCK = "formats/block_lock.py"
_PAYLOAD = "formats/payload.py"
_STATE = "formats/state.py"
_TABLE_METADATA = "formats/table_metadata.py"
_LAYOUT = "formats/layout.py"
_MUTATION_ENTRY = "formats/mutation_entry.py"

MUTANTS = (
    Mutant(
        "a part of another partition covers one",
        _NAMES,
        "        if self.partition_id != other.partition_id:\n            return False\n",
        "",
        ("formats/test_names.py::test_covers[2019-12_0_5_2-2019-1_1_1_0-False]",),
    ),
    Mutant(
        "a part without a mutation covers one with it",
        _NAMES,
        "            and (self.mutation or 0) >= (other.mutation or 0)\n",
        "",
        ("formats/test_names.py::test_covers[all_0_5_2-all_0_5_2_9-False]",),
    ),
    Mutant(
        "a part that ends earlier covers one",
        _NAMES,
        "            and self.max_block >= other.max_block\n",
        "",
        ("formats/test_names.py::test_covers[all_0_5_2-all_0_6_1-False]",),
    ),
    Mutant(
        "a part that begins later covers one",
        _NAMES,
        "            and self.min_block <= other.min_block\n",
        "",
        ("formats/test_names.py::test_covers[all_1_5_2-all_0_5_1-False]",),
    ),
    Mutant(
        "a source covers what was merged of it",
        _NAMES,
        "            and self.level >= other.level\n",
        "",
        ("formats/test_names.py::test_a_source_does_not_cover_the_merged_part",),
    ),
    Mutant(
        "a merge brings all mutations",
        _NAMES,
        "return self.min_block if self.mutation is None else self.mutation",
        "return self.max_block if self.mutation is None else self.mutation",
        ("formats/test_names.py::test_data_version[all_3_9_2-3]",),
    ),
    Mutant(
        "two months are one partition",
        _NAMES,
        "if days[0] <= days[1] and first[:6] == last[:6] else None",
        "if days[0] <= days[1] else None",
        ("formats/test_names.py::test_refuses_invalid_names_of_format_version_0[20191130_20191201_0_0_0]",),
    ),
    Mutant(
        "a name of another format is cut to fit",
        _NAMES,
        "match = (_V1_NAME if format_version else _V0_NAME).fullmatch(text)",
        "match = (_V1_NAME if format_version else _V0_NAME).match(text)",
        ("formats/test_names.py::test_refuses_invalid_names_of_format_version_1[all_0_0_0_]",),
    ),
    Mutant(
        "what a REPLACE drops is not seen",
        _LOG_ENTRY,
        "return _Body((dropped, *sources, *results), ",
        "return _Body(tuple(results), ",
        ("formats/test_log_entry.py::test_reads_entries_of_18_16[data6-EntryKind.REPLACE_RANGE-parts6]",),
    ),
    Mutant(
        "an ALTER concerns no partition",
        _LOG_ENTRY,
        'text")\n    return _Body((), table_wide=True)',
        'text")\n    return _Body(())',
        (
            (
                "formats/test_log_entry.py::test_reads_entries_of_other_servers[body13-EntryKind.ALTE"
                "R-parts13-True]"
            ),
        ),
    ),
    Mutant(
        "entries of any format are read",
        _LOG_ENTRY,
        "    if version not in _FORMAT_VERSIONS:\n",
        "    if version < _FORMAT_VERSIONS[0]:\n",
        ("formats/test_log_entry_version.py",),
    ),
    Mutant(
        "what follows an entry is not looked at",
        _LOG_ENTRY,
        "        text.count(quorum)\n    text.end()",
        "        text.count(quorum)",
        ("formats/test_log_entry.py::test_nothing_may_follow_an_entry",),
    ),
    Mutant(
        "the result of a merge is not seen",
        _LOG_ENTRY,
        '    parts.append(_part(text))\n    text.field("deduplicate: ")',
        '    _part(text)\n    text.field("deduplicate: ")',
        ("formats/test_log_entry.py::test_reads_entries_of_18_16[data3-EntryKind.MERGE-parts3]",),
    ),
    Mutant(
        "the source of a mutation is not seen",
        _LOG_ENTRY,
        "return _Body((source, result))",
        "return _Body((result,))",
        ("formats/test_log_entry.py::test_reads_entries_of_18_16[data4-EntryKind.MUTATE-parts4]",),
    ),
    Mutant(
        "an insert that lives is given up",
        _BLOCK_LOCK,
        "    if ephemeral_owner:\n        return BlockLock.IN_FLIGHT\n",
        "    if ephemeral_owner:\n        return BlockLock.ABANDONED\n",
        ("formats/test_block_lock.py::test_an_ephemeral_znode_is_always_in_flight",),
    ),
    Mutant(
        "an insert whose holder lives is given up",
        _BLOCK_LOCK,
        "return BlockLock.IN_FLIGHT if holder[1] in living_holders else BlockLock.ABANDONED",
        "return BlockLock.ABANDONED",
        ("formats/test_block_lock.py::test_an_insert_is_in_flight_or_abandoned",),
    ),
    Mutant(
        "a znode of another kind is an insert that was given up",
        _BLOCK_LOCK,
        "    if _BLOCK.fullmatch(name) is None:\n",
        "    if not name:\n",
        ("formats/test_block_lock.py::test_refuses_any_other_child[state]",),
    ),
    Mutant(
        "parts of the same data and other children are equal",
        _PAYLOAD,
        "return first.data == second.data and first.children == second.children",
        "return first.data == second.data",
        ("formats/test_payload.py::test_same_content[one4-other4-False]",),
    ),
    Mutant(
        "parts of two forms are equal",
        _PAYLOAD,
        "return None if mine is None or theirs is None else mine == theirs",
        "return None if mine is None or theirs is None else True",
        ("formats/test_payload.py::test_same_content[one10-other10-False]",),
    ),
    Mutant(
        "any hash is the one on disk",
        _PAYLOAD,
        "return queried.lower() in (stored, stored[16:] + stored[:16])",
        "return len(queried) == len(stored)",
        (
            (
                "formats/test_payload.py::test_hash_matches_in_either_order_of_words[2ffdadc5"
                "cb38d48b8557d6aea26e81b0-False]"
            ),
        ),
    ),
    Mutant(
        "a marker that begins with COLD is cold",
        _STATE,
        "return marker == _COLD",
        "return marker is not None and marker.startswith(_COLD)",
        ("formats/test_state.py::test_exactly_one_marker_means_cold[COLD\\n-False]",),
    ),
    Mutant(
        "what is not known of a table is not looked at",
        _TABLE_METADATA,
        "values = {key: text.optional_field(key) for key in _OPTIONAL}\n    text.end()\n",
        "values = {key: text.optional_field(key) for key in _OPTIONAL}\n",
        (
            (
                "formats/test_table_metadata.py::test_refuses_unknown_text[data9-line 8: "
                "expected the end of the text]"
            ),
        ),
    ),
    Mutant(
        "the TTL of a column is not seen",
        _TABLE_METADATA,
        'any(field.startswith("TTL ")',
        'any(field.startswith("CODEC ")',
        ("formats/test_table_metadata.py::test_columns_have_ttl",),
    ),
    Mutant(
        "any znode of a table is known",
        _LAYOUT,
        "unknown = set(children) - KNOWN_TABLE_CHILDREN",
        "unknown = set(children) & KNOWN_TABLE_CHILDREN & {''}",
        ("formats/test_layout.py::test_unknown_children",),
    ),
    Mutant(
        "a partition that a mutation names twice is read",
        _MUTATION_ENTRY,
        "if not tab or partition_id in block_numbers:",
        "if not tab:",
        (
            (
                "formats/test_mutation_entry.py::test_refuses_unknown_text[data8-line "
                "6: expected another partition id]"
            ),
        ),
    ),
)
