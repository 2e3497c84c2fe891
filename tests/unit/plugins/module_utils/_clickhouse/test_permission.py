# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Errors of a server that mean that the user may not do something."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import QueryRefused
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.permission import permitted
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NotPermitted


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (164, "Cannot execute query in readonly mode"),
        (452, "Setting alter_sync should not be changed"),
        (497, "Not enough privileges"),
    ],
)
def test_what_the_user_may_not_do_keeps_its_text_and_remedy(code: int, text: str) -> None:
    refused = QueryRefused("ch1", code, text)
    with pytest.raises(NotPermitted, match=text) as caught, permitted():
        raise refused
    assert (caught.value.message, caught.value.remedy) == (refused.message, refused.remedy)


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(QueryRefused, match="No such part"), permitted():
        raise QueryRefused("ch1", 232, "No such part")
