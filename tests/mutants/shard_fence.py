# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the fence and of what is read behind it."""

from __future__ import annotations

from mutants.mutant import Mutant

_FENCE = "shard/fence.py"

MUTANTS = (
    Mutant(
        "the fence does not check the log",
        _FENCE,
        "shard = (self.log, self.mutations, self.replicas_parent, self.columns, self.metadata)",
        "shard = (self.mutations, self.replicas_parent, self.columns, self.metadata)",
        ("shard/test_fence.py::test_the_fence_holds_until_something_happens_that_concerns_parts[a drop]",),
    ),
)
