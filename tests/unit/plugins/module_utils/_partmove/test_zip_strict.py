# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Answers beside what was asked for."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.zip_strict import zip_strict


def test_columns_of_one_length_become_rows() -> None:
    assert list(zip_strict(["/a", "/b"], (None, b"x"))) == [("/a", None), ("/b", b"x")]
    assert list(zip_strict([], [])) == []


@pytest.mark.parametrize(
    ("first", "second", "lengths"),
    [([1], [], "1 and 0"), ([], [1], "0 and 1"), ([1, 2], [1], "2 and 1")],
)
def test_a_missing_answer_is_told_before_any_row_is_given(
    first: list[int], second: list[int], lengths: str
) -> None:
    with pytest.raises(ValueError, match=f"cannot pair sequences of {lengths} items"):
        zip_strict(first, second)
