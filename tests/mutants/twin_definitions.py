# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the comparison of the definitions of a table and its twin."""

from __future__ import annotations

from mutants.mutant import Mutant

_GATES = "twin/move/gates.py"
_TESTS = "twin/move/test_gates.py"

MUTANTS = (
    Mutant(
        "replicas with different settings are taken for alike",
        _GATES,
        'if each[1] != "storage_policy"]',
        "if False]",
        (f"{_TESTS}::test_tables_that_differ_move_nothing[settings of replicas]",),
    ),
    Mutant(
        "a twin with another storage policy is taken for alike",
        _GATES,
        "    if hot.definition != cold.definition:\n",
        "    if shared_definition(hot.definition) != shared_definition(cold.definition):\n",
        (f"{_TESTS}::test_tables_that_differ_move_nothing[policies of a replica]",),
    ),
    Mutant(
        "replicas with different columns are taken for alike",
        _GATES,
        '    return found["rest"] + (f" SETTINGS',
        '    return (f" SETTINGS',
        (f"{_TESTS}::test_tables_that_differ_move_nothing[columns of replicas]",),
    ),
)
