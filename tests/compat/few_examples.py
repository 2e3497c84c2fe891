# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plugin of pytest for tests of the domain with another Python than the one that runs all of them.

What a Python lacks or does otherwise shows in any case of a test. So Hypothesis and random acts try less, and
interleavings, which take much of the time, are left out: no line is run by them alone.
"""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

# Of random acts, which run some lines alone.
os.environ["RUNS"] = "60"

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
    """Leave out interleavings."""
    left_out = [each for each in items if each.path.stem.endswith("_interleavings")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [each for each in items if each not in set(left_out)]
