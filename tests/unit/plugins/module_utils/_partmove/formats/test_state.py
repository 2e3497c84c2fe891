# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The marker of a partition: exactly COLD means cold, and options may be in any case."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import (
    State,
    is_cold,
    marker_text,
)


@pytest.mark.parametrize(
    ("marker", "cold"),
    [(b"COLD", True), (b"COLD\n", False), (b"cold", False), (b" COLD", False), (b"HOT", False), (b"", False)],
)
def test_exactly_one_marker_means_cold(marker: bytes, cold: bool) -> None:
    assert is_cold(marker) is cold


def test_without_a_marker_a_partition_is_hot() -> None:
    assert not is_cold(None)
    assert marker_text(None) == ""


@pytest.mark.parametrize("state", State)
def test_markers_are_written_as_servers_read_them(state: State) -> None:
    assert is_cold(state.data) is (state is State.COLD)
    assert marker_text(state.data) == state.value


@pytest.mark.parametrize("word", ["cold", "COLD", "Cold"])
def test_options_may_be_in_any_case(word: str) -> None:
    assert State.named(word) is State.COLD


@pytest.mark.parametrize("word", ["", "cool", "COLD "])
def test_another_word_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="is not a valid State"):
        State.named(word)


def test_any_marker_can_be_shown() -> None:
    assert marker_text(b"\xffCOLD") == "\\xffCOLD"
