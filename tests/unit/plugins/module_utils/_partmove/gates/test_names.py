# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The names of the gates are words that a plan, a result and a page can have alike."""

from __future__ import annotations

import json
import re

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.judge import MOVE_GATES
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import FORESEEN, GateName


def test_each_name_is_a_word_for_variables_and_files() -> None:
    assert [each.value for each in GateName if not re.fullmatch(r"[a-z]+(_[a-z]+)*", each.value)] == []
    assert [each.name for each in GateName if each.name != each.value.upper()] == []


def test_a_name_is_written_as_its_word() -> None:
    assert json.dumps([GateName.ONE_PART.value]) == '["one_part"]'


def test_the_gate_names_are_in_the_order_of_the_checks() -> None:
    looked_at = [gate.name for kind in MOVE_GATES for gate in kind]
    assert looked_at == [each for each in GateName if each in looked_at]


def test_what_a_classification_foresees_are_gates_of_partitions() -> None:
    assert set(FORESEEN) <= {gate.name for gate in MOVE_GATES.partition}
