# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inner tables of views are known by the names that servers give them."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.inner_tables import (
    inner_reason,
    is_inner,
)

UUID = "279f7e0e-15b5-43c9-8e58-80195ffea95f"


@pytest.mark.parametrize(
    "name",
    [
        f".inner_id.{UUID}",
        f".inner.{UUID}",
        ".inner.daily",
        f".tmp.inner_id.{UUID}",
        f".inner_id.data.{UUID}",
        ".inner.target.daily",
    ],
)
def test_names_of_servers_are_inner(name: str) -> None:
    assert is_inner(name)


@pytest.mark.parametrize("name", ["hits", "inner.hits", ".inner", ".innermost.hits", "a.inner_id.b", ".hits"])
def test_other_names_are_not(name: str) -> None:
    assert not is_inner(name)


def test_the_reason_names_the_table() -> None:
    assert inner_reason("db..inner_id.1").startswith("db..inner_id.1 is the inner table of a view")
