# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A verdict has no details unless its kind needs some, and never waits."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.verdict import TwinVerdict


@pytest.mark.parametrize("kind", TwinKind)
def test_verdict_of_a_kind_alone(kind: TwinKind) -> None:
    assert TwinVerdict(kind) == (kind, (), "", "", None)
    assert not TwinVerdict(kind).can_wait
