# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Figures as text for Prometheus."""

from __future__ import annotations

from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.findings.metrics import (
    Family,
    Sample,
    exposition,
)
from support.exposition import parsed

NAMES = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
LABELS = st.lists(st.tuples(NAMES, st.text()), unique_by=lambda label: label[0], max_size=3)


def test_a_family_with_its_figures() -> None:
    family = Family("partmove_parts", "Parts.", (Sample(2, (("path", "/a"), ("kind", "b"))), Sample(0)))
    assert exposition([family]) == (
        "# HELP partmove_parts Parts.\n# TYPE partmove_parts gauge\n"
        'partmove_parts{path="/a",kind="b"} 2\npartmove_parts 0\n'
    )


def test_what_is_escaped() -> None:
    text = exposition([Family("a", "One\nand \\ two.", (Sample(1, (("path", 'a"b\\c\nd'),)),))])
    assert text == '# HELP a One\\nand \\\\ two.\n# TYPE a gauge\na{path="a\\"b\\\\c\\nd"} 1\n'


def test_a_family_without_figures_says_what_it_is() -> None:
    assert parsed(exposition([Family("a", "A.", ())])) == {"a": {}}


@given(st.text(), LABELS, st.floats(allow_nan=False, allow_infinity=False) | st.integers())
def test_whatever_a_label_has_is_read_again(text: str, labels: list[tuple[str, str]], value: float) -> None:
    family = Family("a", text, (Sample(value, tuple(labels)),))
    assert parsed(exposition([family])) == {"a": {tuple(labels): float(value)}}
