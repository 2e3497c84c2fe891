# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of how hot and cold are bound to each other at a shard path."""

from __future__ import annotations

from mutants.mutant import Mutant

_BINDING = "binding/binding.py"
_KNOWN_COLD = "binding/known_cold.py"
_MARKER = "binding/marker.py"
_BIND = "patched/parts/bind.py"
_TO_COLD = "patched/move/to_cold.py"
_TO_HOT = "patched/move/to_hot.py"

MUTANTS = (
    Mutant(
        "another coordination root is let pass",
        _BINDING,
        "if marker is None or side is None or side == own:",
        "if marker is None or side is None or side.path == own.path:",
        (
            "binding/test_binding.py::test_another_root_or_path_of_this_hot_ensemble_is_a_conflict[False-side2-]",
        ),
    ),
    Mutant(
        "another path of hot is let pass",
        _BINDING,
        "if marker is None or side is None or side == own:",
        "if marker is None or side is None or side.root == own.root:",
        (
            "binding/test_binding.py::test_another_root_or_path_of_this_hot_ensemble_is_a_conflict[False-side0-]",
        ),
    ),
    Mutant(
        "the chroot of hot is no part of the path",
        _BINDING,
        'HotSide(f"{hot.chroot}{layout.path}", f"{hot.chroot}{root}")',
        'HotSide(layout.path, f"{hot.chroot}{root}")',
        (
            "binding/test_binding.py::test_another_root_or_path_of_this_hot_ensemble_is_a_conflict[False-side4-/x]",
        ),
    ),
    Mutant(
        "the chroot of hot is no part of the coordination root",
        _BINDING,
        'HotSide(f"{hot.chroot}{layout.path}", f"{hot.chroot}{root}")',
        'HotSide(f"{hot.chroot}{layout.path}", root)',
        (
            "binding/test_binding.py::test_another_root_or_path_of_this_hot_ensemble_is_a_conflict[False-side1-/x]",
        ),
    ),
    Mutant(
        "another cold ensemble is let pass",
        _BINDING,
        "if binding.known is None or binding.is_known:",
        "if binding.known is None or binding.cold is not None:",
        ("binding/test_binding.py::test_another_cold_ensemble_is_refused_while_a_partition_is_cold",),
    ),
    Mutant(
        "a cold ensemble without the shard path is let pass",
        _BINDING,
        "if binding.known is None or binding.is_known:",
        "if binding.known is None or binding.cold is None or binding.is_known:",
        ("binding/test_binding.py::test_a_cold_ensemble_without_the_table_is_refused",),
    ),
    Mutant(
        "any marker proves that cold is the one of the table",
        _BINDING,
        "return self.marker.table.hot_id == self.pair.hot_id if self.marker.is_identified else self.is_known",
        "return True",
        ("binding/test_binding.py::test_a_marker_of_this_path_alone_proves_nothing[mark_of_other_cluster]",),
    ),
    Mutant(
        "the marker in cold is not read",
        _BINDING,
        "marker = None if znodes.shard is None else parse_marker(znodes.shard)",
        "marker = None",
        ("binding/test_binding.py::test_a_table_with_moves_is_bound_on_both_sides",),
    ),
    Mutant(
        "what hot knows of its cold ensemble is not read",
        _BINDING,
        "        known=znodes.known,",
        "        known=None,",
        ("binding/test_binding.py::test_a_table_with_moves_is_bound_on_both_sides",),
    ),
    Mutant(
        "two cold ensembles are told apart by time alone",
        _KNOWN_COLD,
        "is_created_so = (self.czxid, self.ctime) == (znode.stat.czxid, znode.stat.ctime)",
        "is_created_so = self.ctime == znode.stat.ctime",
        ("binding/test_binding.py::test_a_table_without_cold_partitions_may_use_another_cold_ensemble",),
    ),
    Mutant(
        "two cold ensembles are told apart by transaction alone",
        _KNOWN_COLD,
        "is_created_so = (self.czxid, self.ctime) == (znode.stat.czxid, znode.stat.ctime)",
        "is_created_so = self.czxid == znode.stat.czxid",
        ("binding/test_known_cold.py::test_an_ensemble_is_identified_by_the_creation_of_a_znode[5-1-False]",),
    ),
    Mutant(
        "the coordination root in a marker is not read",
        _MARKER,
        'side = None if version == 1 else HotSide(fields["hot_path"], fields["coordination_root"])',
        "side = None",
        ("binding/test_marker.py::test_a_marker_survives_a_round_trip[marker0]",),
    ),
    Mutant(
        "hot gets no note of the cold ensemble",
        _BIND,
        "elif not binding.is_known:",
        "elif binding.known is None and not binding.is_known:",
        ("patched/parts/test_bind.py::test_hot_learns_of_another_cold_ensemble",),
    ),
    Mutant(
        "a marker that names another table stays",
        _BIND,
        "not _says(binding.marker, desired):",
        "binding.marker is None:",
        ("patched/parts/test_bind.py::test_a_marker_of_version_1_is_completed",),
    ),
    Mutant(
        "a marker that another run wrote since is overwritten",
        _BIND,
        "version = 0 if binding.cold is None else binding.cold.stat.version",
        "version = next(each.stat.version for each in leased.cold.store.read([path]) if each is not None)",
        ("patched/parts/test_bind.py::test_of_two_runs_that_begin_with_other_roots_one_copies",),
    ),
    Mutant(
        "nothing is written of the cold ensemble",
        _BIND,
        "elif not binding.is_known:",
        "elif binding.cold is None:",
        ("patched/parts/test_bind.py::test_binding_twice_writes_once",),
    ),
    Mutant(
        "a shard path is not bound before it is copied",
        _TO_COLD,
        "        bind(leased, shard)\n        comparison",
        "        comparison",
        ("patched/parts/test_bind.py::test_a_table_is_bound_before_anything_is_copied",),
    ),
    Mutant(
        "a shard path is bound after it was copied",
        _TO_COLD,
        "        bind(leased, shard)\n"
        "        comparison = make_verified_copies(leased, shard, partitions, self._created)\n",
        "        comparison = make_verified_copies(leased, shard, partitions, self._created)\n"
        "        bind(leased, shard)\n",
        ("patched/parts/test_bind.py::test_a_table_is_bound_before_anything_is_copied",),
    ),
    Mutant(
        "a shard path is not bound before it is brought back",
        _TO_HOT,
        "        bind(leased, shard)\n        self._asked",
        "        self._asked",
        ("patched/parts/test_bind.py::test_a_marker_of_version_1_is_completed",),
    ),
    Mutant(
        "a shard path is not bound before copies are removed",
        _TO_HOT,
        "        bind(leased, read.shard)\n",
        "",
        ("patched/parts/test_bind.py::test_a_table_is_bound_before_copies_are_removed",),
    ),
)
