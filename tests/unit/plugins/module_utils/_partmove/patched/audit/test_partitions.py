# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The evidence of a partition is made on demand, restricted to the mismatches of the first read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import (
    FirstReadMismatches,
)
from support.memory.bench import DAY, OTHER, PATH
from support.memory.drifted import Drifted


def test_every_partition_is_listed_and_made_on_demand() -> None:
    found = Drifted().evidence().read(PATH).partitions
    assert (list(found), len(found)) == ([DAY, OTHER], 2)
    assert DAY in found
    assert "2018" not in found
    assert found[DAY] == found[DAY]
    with pytest.raises(KeyError):
        found["2018"]


def test_a_place_without_mismatches_in_the_first_read_has_none() -> None:
    found = Drifted().evidence().read(PATH).partitions
    assert all(each.before is None for each in found[DAY].replicas)
    mismatches = FirstReadMismatches(frozenset({"a"}))
    second = replace(found, before={DAY: {"r1": mismatches}})
    assert [each.before for each in second[DAY].replicas] == [mismatches, FirstReadMismatches()]
    assert [each.before for each in second[OTHER].replicas] == [FirstReadMismatches()] * 2
