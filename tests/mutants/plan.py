# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of how a plan is held against the cluster that it is carried out in."""

from __future__ import annotations

from mutants.mutant import Mutant

_ORIGIN = "plan/origin.py"
_FILE = "plan/file.py"
_OTHERWISE = "plan/test_origin.py::test_a_znode_with_another_creation_is_of_another_cluster"

MUTANTS = (
    Mutant(
        "a plan of another cluster is carried out",
        _ORIGIN,
        "if current != each:",
        "if current.path != each.path:",
        (f"{_OTHERWISE}[by another transaction at the same moment]",),
    ),
    Mutant(
        "two clusters are told apart by time alone",
        _ORIGIN,
        "if current != each:",
        "if current.ctime != each.ctime:",
        (f"{_OTHERWISE}[by another transaction at the same moment]",),
    ),
    Mutant(
        "two clusters are told apart by transaction alone",
        _ORIGIN,
        "if current != each:",
        "if current.czxid != each.czxid:",
        (f"{_OTHERWISE}[by the same transaction at another moment]",),
    ),
    Mutant(
        "a plan is carried out in a cluster that lacks what it is of",
        _ORIGIN,
        'raise _other_cluster(hot, each, "which has no such znode", where)',
        "continue",
        ("plan/test_origin.py::test_a_missing_znode_means_another_cluster",),
    ),
    Mutant(
        "a row that the header tells no cluster of is carried out",
        _FILE,
        "            _check_topmost(self._topmost_paths, row, where)\n",
        "",
        ("plan/test_file.py::test_a_row_below_no_znode_of_the_origin_is_refused",),
    ),
)
