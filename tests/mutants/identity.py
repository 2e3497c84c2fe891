# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of who is who: identities, owners, pairs, and tables that are taken over."""

from __future__ import annotations

from mutants.mutant import Mutant

_BINDING = "binding/binding.py"
_BIND = "patched/parts/bind.py"
_IDENTITY = "binding/identity.py"
_JUDGE = "patched/audit/judge.py"
_LEASED = "patched/parts/leased_shard.py"
_OWNER = "binding/owner.py"
_PAIR = "patched/parts/pair.py"
_READER = "patched/audit/reader.py"
_TAKE_OVER = "patched/repair/take_over.py"
_GATES = "gates/shard.py"
_TWO = "patched/repair/test_run_two_clusters.py"

MUTANTS = (
    Mutant(
        "the id of hot is not compared",
        _OWNER,
        "if not binding.pair.hot_id or marker.table.hot_id != binding.pair.hot_id:",
        "if not binding.pair.hot_id:",
        ("patched/repair/test_run_two_clusters.py::test_the_audit_names_the_other_cluster[listed]",),
    ),
    Mutant(
        "hot without an identity owns everything",
        _OWNER,
        "if not binding.pair.hot_id or marker.table.hot_id != binding.pair.hot_id:",
        "if binding.pair.hot_id and marker.table.hot_id != binding.pair.hot_id:",
        ("binding/test_owner.py::test_the_owner[hot lost its identity]",),
    ),
    Mutant(
        "a marker without an id is trusted by path",
        _OWNER,
        "return Owner.NOBODY if marker.side is None else Owner.OTHER_CLUSTER",
        "return Owner.NOBODY if marker.side is None else Owner.OURS",
        ("patched/repair/test_run_two_clusters.py::test_markers_without_an_id_prove_nothing[listed]",),
    ),
    Mutant(
        "a marker without an id counts as former",
        _OWNER,
        "return Owner.NOBODY if marker.side is None else Owner.OTHER_CLUSTER",
        "return Owner.NOBODY if marker.side is None else Owner.FORMER",
        ("patched/repair/test_run_two_clusters.py::test_markers_without_an_id_prove_nothing[listed]",),
    ),
    Mutant(
        "a marker without a path is trusted",
        _OWNER,
        "return Owner.NOBODY if marker.side is None else Owner.OTHER_CLUSTER",
        "return Owner.OURS",
        ("binding/test_owner.py::test_the_owner[by transaction alone]",),
    ),
    Mutant(
        "the record in hot proves nothing",
        _OWNER,
        "    if not binding.is_known:\n",
        "    if True:\n",
        ("binding/test_owner.py::test_the_owner[by path, and known in hot]",),
    ),
    Mutant(
        "a former table is ours",
        _OWNER,
        "is_same = shard is not None and marker.table == TableId.of(binding.pair.hot_id, shard)",
        "is_same = True",
        ("binding/test_owner.py::test_the_owner[a former table]",),
    ),
    Mutant(
        "moves do not ask for the other cluster",
        _BINDING,
        "    _refuse_other_cluster(binding, layout)\n",
        "",
        (
            "patched/repair/test_run_two_clusters.py::test_a_marker_without_parts_is_theirs_all_the_same[listed]",
        ),
    ),
    Mutant(
        "any hot ensemble may use a cold ensemble",
        _BINDING,
        "    refuse_unlisted_hot(binding, cold, root)\n    return",
        "    return",
        ("patched/repair/test_run_two_clusters.py::test_a_second_hot_ensemble_writes_nothing",),
    ),
    Mutant(
        "a marker with another root is always another cluster's",
        _BINDING,
        "if marker.is_identified and not _is_of_hot(hot, side.root, marker.table.hot_id):",
        "if marker.is_identified:",
        (
            "binding/test_binding.py::test_another_root_or_path_of_this_hot_ensemble_is_a_conflict[True-side2-]",
        ),
    ),
    Mutant(
        "the audit does not know other clusters",
        _JUDGE,
        "    _other_cluster,\n",
        "",
        ("patched/repair/test_run_two_clusters.py::test_the_audit_names_the_other_cluster[listed]",),
    ),
    Mutant(
        "another cluster's leftovers are former",
        _READER,
        "if owner is Owner.OTHER_CLUSTER:",
        "if owner is None:",
        (
            "patched/repair/test_run_two_clusters.py::test_a_dropped_table_of_ours_leaves_theirs_alone[listed]",
        ),
    ),
    Mutant(
        "the gate lets unproven parts pass",
        _GATES,
        'Owner.OTHER_CLUSTER: "nothing proves that the parts in the cold ensemble are of this cluster"',
        "Owner.OTHER_CLUSTER: None",
        ("gates/test_shard.py::test_a_gate_that_trips[same_table3]",),
    ),
    Mutant(
        "bind overwrites the marker of another cluster",
        _BIND,
        "if shard.owner is Owner.OTHER_CLUSTER and shard.has_parts_in_cold:",
        "if False:",
        ("patched/parts/test_bind.py::test_repairs_do_not_bind_what_is_another_clusters",),
    ),
    Mutant(
        "writes to cold do not check the marker",
        _LEASED,
        "self.cold.require([] if marker is None else [Check(marker.path, marker.stat.version)])",
        "self.cold.require([])",
        ("patched/repair/test_take_over.py::test_a_run_of_the_former_owner_with_another_root_is_fenced",),
    ),
    Mutant(
        "consent is overwritten by the owner's next run",
        _BIND,
        "return marker is not None and (marker.table, marker.side) == (desired.table, desired.side)",
        "return marker == desired",
        ("patched/repair/test_take_over.py::test_consent_stays_while_the_owner_moves",),
    ),
    Mutant(
        "all identities are equal",
        _IDENTITY,
        "return cls(uuid4().hex)",
        'return cls("0" * 32)',
        ("binding/test_identity.py::test_each_identity_is_another_one",),
    ),
    Mutant(
        "a second hot ensemble joins without being asked",
        _PAIR,
        "if pair.is_bound or (pair.bound_hots and not may_join):",
        "if pair.is_bound:",
        ("patched/parts/test_pair.py::test_a_second_hot_ensemble_joins_on_request_alone",),
    ),
    Mutant(
        "the list of hot ensembles is not compared",
        _PAIR,
        "if znode is None or (read.children[0] or ()) != pair.bound_hots:",
        "if znode is None:",
        (
            "patched/parts/test_pair.py::test_of_two_hot_ensembles_one_comes_first_although_the_other_read_before",
        ),
    ),
    Mutant(
        "an addition to the list does not check the list",
        _PAIR,
        '_send(cold, (SetData(folder, b"", znode.stat.version), addition))',
        "_send(cold, (addition,))",
        ("patched/parts/test_pair.py::test_of_two_hot_ensembles_one_comes_first",),
    ),
    Mutant(
        "the pair is read without a sync of cold",
        _PAIR,
        "    cold.sync(path)\n    in_hot",
        "    in_hot",
        ("patched/parts/test_pair.py::test_a_member_that_lags_behind_is_synced[cold]",),
    ),
    Mutant(
        "the pair is read without a sync of hot",
        _PAIR,
        "    hot.sync(path)\n",
        "",
        ("patched/parts/test_pair.py::test_a_member_that_lags_behind_is_synced[hot]",),
    ),
    Mutant(
        "a table is taken over without proof",
        _TAKE_OVER,
        "            _refuse_unproven(cold, evidence.read(shard_path))\n",
        "",
        ("patched/repair/test_take_over.py::test_a_part_on_no_disk_is_no_proof",),
    ),
    Mutant(
        "a disk without a hash is proof",
        _TAKE_OVER,
        "if registered is None or shown is None or not _registers(registered, shown):",
        "if registered is None or (shown is not None and not _registers(registered, shown)):",
        ("patched/repair/test_take_over.py::test_a_disk_without_the_hash_is_no_proof[None]",),
    ),
    Mutant(
        "the hash is not compared",
        _TAKE_OVER,
        "if registered is None or shown is None or not _registers(registered, shown):",
        "if registered is None or shown is None:",
        (
            "patched/repair/test_take_over.py::test_a_disk_without_the_hash_is_no_proof[22222222222222222222222222222222]",
        ),
    ),
    Mutant(
        "a replica of the other cluster alone is proof",
        _TAKE_OVER,
        '        yield f"hot has no replica {replica.name}"\n        return',
        "        return",
        ("patched/repair/test_take_over.py::test_a_replica_of_theirs_alone_is_no_proof",),
    ),
    Mutant(
        "consent for somebody else is proof",
        _TAKE_OVER,
        "bool(marker.given_to) and marker.given_to == pair.hot_id",
        "bool(marker.given_to)",
        ("patched/repair/test_take_over.py::test_consent_for_somebody_else_is_no_proof",),
    ),
    Mutant(
        "no consent counts where hot has no identity",
        _TAKE_OVER,
        "bool(marker.given_to) and marker.given_to == pair.hot_id",
        "marker.given_to == pair.hot_id",
        ("patched/repair/test_take_over.py::test_hot_without_an_identity_has_no_consent",),
    ),
    Mutant(
        "former and unmarked tables are taken over",
        _TAKE_OVER,
        "        _refuse_unclaimed(shard.owner, shard_path)\n",
        "",
        ("patched/repair/test_take_over.py::test_a_former_table_and_unmarked_parts_are_for_repairs",),
    ),
    Mutant(
        "anybody gives a table away",
        _TAKE_OVER,
        "            shard.owner is not Owner.OURS\n            or binding.cold is None\n",
        "            binding.cold is None\n",
        ("patched/repair/test_take_over.py::test_consent_is_proof_without_disks",),
    ),
    Mutant(
        "repairs remove unmarked parts from a cold ensemble of others",
        "patched/repair/judged.py",
        "if evidence.owner is Owner.NOBODY and binding.pair.bound_hots and not binding.pair.is_bound:",
        "if evidence.owner is None:",
        (f"{_TWO}::test_parts_without_a_marker_are_left_while_cold_belongs_to_others[False]",),
    ),
    Mutant(
        "repairs touch the parts of another cluster",
        "patched/repair/judged.py",
        "if evidence.owner is Owner.OTHER_CLUSTER:",
        "if evidence.owner is None:",
        (f"{_TWO}::test_not_even_a_znode_that_is_no_part_is_removed[listed]",),
    ),
)
