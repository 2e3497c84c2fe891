# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an audit says of real tables, each in a state that was brought about the way it really is."""

from __future__ import annotations

import pytest

from support.servers.leftovers import original, ours
from support.servers.leftovers.ground import Ground, Scene, kinds_of

pytestmark = [pytest.mark.clickhouse, pytest.mark.patched, pytest.mark.usefixtures("healthy")]


@pytest.mark.parametrize("scene", [*ours.SCENES, *original.SCENES], ids=str)
def test_the_kind_of_every_partition_of_every_replica(ground: Ground, scene: Scene) -> None:
    scene.make(ground)
    before = ground.dump()

    found = ground.audit()

    assert kinds_of(found) == scene.kinds
    assert ground.dump() == before
