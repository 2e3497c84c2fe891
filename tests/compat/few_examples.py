# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plugin of pytest for tests of the domain with another Python than the one that runs all of them.

What a Python lacks or does otherwise shows in any case of a test. So Hypothesis tries less, and of the
interleavings, which take nearly all of the time, each test has one case.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "few_examples", max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("few_examples")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out all cases but the first of each test of interleavings."""
    kept: dict[str, pytest.Item] = {}
    for item in items:
        is_one_of_many = item.path.stem.endswith("_interleavings")
        kept.setdefault(item.nodeid.partition("[")[0] if is_one_of_many else item.nodeid, item)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept.values()])
    items[:] = kept.values()
