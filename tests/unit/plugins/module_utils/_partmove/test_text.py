# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Durations as people write them."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.text import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("90", 90),
        ("90s", 90),
        ("30m", 1800),
        ("36h", 129_600),
        ("1d", 86_400),
        ("2w", 1_209_600),
        ("007d", 604_800),
    ],
)
def test_seconds_of_a_duration(text: str, seconds: int) -> None:
    assert parse_duration(text, "min_age") == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "d",
        "1 d",
        "1D",
        "-1",
        "+1",
        "1.5h",
        "1d12h",
        "1y",
        "1_0",
        "\N{ARABIC-INDIC DIGIT ONE}",
        "1\n",
        "9999999999",
    ],
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(
        FormatError, match=r"min_age is .*, which is no duration\. Give a whole number"
    ) as found:
        parse_duration(text, "min_age")
    assert repr(text) in found.value.message
