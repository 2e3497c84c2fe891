# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Answers beside what was asked for."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.aligned import aligned


def test_columns_of_one_length_become_rows() -> None:
    assert list(aligned(["/a", "/b"], (None, b"x"))) == [("/a", None), ("/b", b"x")]
    assert list(aligned([1, 2], "ab", [True, False])) == [(1, "a", True), (2, "b", False)]
    assert list(aligned([], [])) == []


@pytest.mark.parametrize(
    ("first", "second", "lengths"),
    [([1], [], "0, 1"), ([], [1], "0, 1"), ([1, 2], [1], "1, 2")],
)
def test_a_missing_answer_is_told_before_any_row_is_given(
    first: list[int], second: list[int], lengths: str
) -> None:
    with pytest.raises(ValueError, match=rf"columns of \[{lengths}\] items stand beside each other"):
        aligned(first, second)


def test_one_of_three_columns_that_is_short_is_told() -> None:
    with pytest.raises(ValueError, match=r"columns of \[1, 2\] items"):
        aligned([1, 2], [1, 2], [1])
