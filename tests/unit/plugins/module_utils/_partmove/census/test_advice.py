# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every kind of advice has a description and a remedy."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.advice import AdviceKind


@pytest.mark.parametrize("kind", AdviceKind)
def test_advice_has_a_description_and_a_remedy(kind: AdviceKind) -> None:
    assert kind.means[0].islower()
    assert kind.remedy[0].isupper()
    assert not kind.means.endswith(".")
    assert not kind.remedy.endswith(".")
    assert "  " not in f"{kind.means} {kind.remedy}"


def test_texts_are_distinct() -> None:
    assert len({kind.means for kind in AdviceKind}) == len(AdviceKind)
