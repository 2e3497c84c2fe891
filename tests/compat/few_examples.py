# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plugin of pytest for tests of the domain with another Python than the one that runs all of them.

What a Python lacks or does otherwise shows in any case of a test. So Hypothesis tries less, and of the
interleavings, which take nearly all of the time, the first case of each file is left with the oldest Python,
which lacks most, and none with others: the code that they run is that of the tests beside them.
"""

from __future__ import annotations

import gc
import sys

import pytest
from hypothesis import HealthCheck, settings

_AFTER_OLDEST = (3, 10)

settings.register_profile(
    "few_examples", max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("few_examples")

# As in tests/conftest.py: all that is made while tests are collected stays.
gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Look for garbage from now on, in what tests make alone."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out most interleavings."""
    kept: dict[str, pytest.Item] = {}
    for item in items:
        if not _interleaves(item):
            kept[item.nodeid] = item
        elif sys.version_info < _AFTER_OLDEST:
            kept.setdefault(str(item.path), item)
    left = set(kept.values())
    config.hook.pytest_deselected(items=[item for item in items if item not in left])
    items[:] = kept.values()


def _interleaves(item: pytest.Item) -> bool:
    return item.path.stem.endswith("_interleavings")
