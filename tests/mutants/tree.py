# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of how operations are packed into multis."""

from __future__ import annotations

from mutants.mutant import Mutant

_BATCHES = "tree/multi_batches.py"

MUTANTS = (
    Mutant(
        "the first multis of many do without the checks",
        _BATCHES,
        "            yield MultiBatch(tuple(keys), (*checks, *ops))\n            keys",
        "            yield MultiBatch(tuple(keys), tuple(ops))\n            keys",
        ("tree/test_multi_batches.py::test_every_multi_carries_the_checks",),
    ),
    Mutant(
        "the last multi does without the checks",
        _BATCHES,
        "    if ops:\n        yield MultiBatch(tuple(keys), (*checks, *ops))",
        "    if ops:\n        yield MultiBatch(tuple(keys), tuple(ops))",
        ("tree/test_multi_batches.py::test_every_group_is_carried_once_as_a_whole",),
    ),
    Mutant(
        "what does not fit one multi is sent all the same",
        _BATCHES,
        "size_of(ops) + more_bytes <= self.bytes",
        "size_of(ops) + more_bytes <= 4 * self.bytes",
        ("tree/test_multi_batches.py::test_a_group_fits_up_to_the_limits[0]",),
    ),
)
