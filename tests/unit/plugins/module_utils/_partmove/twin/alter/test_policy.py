# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Storage policies of definitions are found, exchanged and compared, and what changes them is known."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.policy import (
    changes_policy,
    different_policies,
    policy_of,
    with_policy,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.statement import (
    AlterKind,
    Statement,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.ledgers import tables_of_replicas

X, Y = "storage_policy = 'x, \\'1'", "storage_policy = 'y'"


@pytest.mark.parametrize("settings", ["{}", "a = 'b, c', {}", "{}, z = 1", "a = 1, {}, z = 'c, d'"])
def test_a_policy_is_exchanged(settings: str) -> None:
    text = "(s String DEFAULT ' SETTINGS q') ORDER BY d SETTINGS "
    of_x, of_y = (text + settings.format(each) for each in (X, Y))
    assert (policy_of(of_x), policy_of(of_y)) == (X, Y)
    assert (with_policy(of_x, Y), with_policy(of_y, X)) == (of_y, of_x)
    assert with_policy(with_policy(of_x, ""), X) == of_x


def test_a_definition_without_settings_has_no_policy() -> None:
    assert policy_of("() ORDER BY d") == policy_of("() ORDER BY d SETTINGS a = 1") == ""
    assert with_policy("() ORDER BY d", "") == "() ORDER BY d"


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("MODIFY SETTING storage_policy = 'x'", True),
        ("modify setting a = 1, storage_policy = 'x'", True),
        ("RESET SETTING a, storage_policy", True),
        ("MODIFY SETTING a = 'storage_policy'", False),
        ("COMMENT COLUMN storage_policy 'text'", False),
    ],
)
def test_a_statement_that_changes_the_policy_is_known(text: str, changes: bool) -> None:
    assert changes_policy(Statement(AlterKind.STRUCTURE, text, of_each_replica=True)) is changes
    assert not changes_policy(Statement(AlterKind.STRUCTURE, text))
    assert not changes_policy(Statement(AlterKind.MUTATION, text, of_each_replica=True))


def test_replicas_with_different_policies_are_named() -> None:
    first, second = tables_of_replicas()
    assert different_policies([first, second], Side.COLD) == ""
    other = second._replace(cold=second.cold._replace(definition=f"() ORDER BY d SETTINGS {Y}"))
    assert different_policies([first, other], Side.HOT) == ""
    assert different_policies([first, other], Side.COLD) == (
        f"db.hits_cold has the default storage policy on {first.server}, and {Y} on {second.server}"
    )
