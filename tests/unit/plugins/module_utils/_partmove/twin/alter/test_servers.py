# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Values of servers."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.servers import (
    Mutation,
    Refused,
)


def test_a_mutation_has_not_failed_unless_the_server_says_so() -> None:
    assert Mutation("0", "DELETE WHERE 1", True).failure == ""


def test_a_refusal_is_an_error_with_a_remedy() -> None:
    error = Refused("it is refused", remedy="Do it")
    assert isinstance(error, PartMoveError)
    assert str(error) == "it is refused. Do it."
