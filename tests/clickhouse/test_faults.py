# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A short form of `make faults`: one fault of every kind, always the same ones, on both ensembles."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from faults.campaign import Campaign
from faults.field import Field, running_field
from faults.journey import Journey
from faults.kinds import Kind, Phase
from faults.rows import TRAVELLING
from support.servers.kazoo_client import connected

SEED = 1

pytestmark = [pytest.mark.clickhouse, pytest.mark.long(minutes=4)]


@pytest.fixture(scope="module", params=["zookeeper", "keeper"])
def field(
    request: pytest.FixtureRequest, clickhouse: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Field]:
    """Servers on real ZooKeepers, and on the stand-in for Keeper."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENSEMBLES", request.param)
        with running_field(tmp_path_factory.mktemp("faults"), clickhouse) as running:
            yield running


def test_nothing_is_lost_whatever_breaks(field: Field) -> None:
    lines: list[str] = []
    campaign = Campaign(field, SEED, lines.append)

    campaign.run(campaign.requests(), len(Kind))

    assert campaign.tally.bad == [], "\n".join(lines)
    assert campaign.tally.hits == len(Kind)
    assert campaign.tally.looks


def test_a_part_that_is_lost_is_noticed(field: Field) -> None:
    journey = Journey(field, "lost", busy=False)
    journey.bring_to(Phase.REHEAT)
    assert journey.violations() == []
    parts = f"{journey.known.table.path}/replicas/r2/parts"
    with connected(field.cold.ensemble.connect_string) as client:
        (name,) = (each for each in client.get_children(parts) if each.startswith(TRAVELLING[0]))
        client.delete(f"{parts}/{name}", recursive=True)

    (found,) = journey.violations()

    assert found == (
        f"{TRAVELLING[0]} of r2 is not in cold alone: State is b'COLD', active are ['{name}'], in hot [], "
        "in cold []"
    )


def test_rows_that_are_lost_are_noticed(field: Field) -> None:
    journey = Journey(field, "fewer", busy=False)
    server = journey.known.table.servers[0]
    server.execute(f"ALTER TABLE fewer DROP PARTITION {TRAVELLING[0]}", replication_alter_partitions_sync=2)

    found = journey.violations()

    assert [each.partition(" missing")[0] for each in found] == [
        f"{name} has 28 rows instead of 32:" for name in ("r1", "r2")
    ]
