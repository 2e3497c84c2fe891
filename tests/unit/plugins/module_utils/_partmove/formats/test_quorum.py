# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parts that wait for a quorum."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.quorum import (
    parse_quorum_entry,
    quorum_parts,
)

STATUS = "/clickhouse/tables/01/t/quorum/status"
FAILED = "/clickhouse/tables/01/t/quorum/failed_parts"

WAITING = (
    b"version: 1\npart_name: 20191203_4_4_0\nrequired_number_of_replicas: 3\nactual_number_of_replicas: 2\n"
    b"replicas:\nr1\nr\\t2\n"
)


def test_reads_an_entry_of_18_16() -> None:
    data = (
        b"version: 1\npart_name: 20191205_0_0_0\nrequired_number_of_replicas: 2\n"
        b"actual_number_of_replicas: 1\nreplicas:\nr1\n"
    )
    entry = parse_quorum_entry(data, 1, STATUS)
    assert (entry.part.text, entry.required, entry.replicas) == ("20191205_0_0_0", 2, ("r1",))


def test_reads_an_entry() -> None:
    entry = parse_quorum_entry(WAITING, 1, STATUS)
    assert entry.part.text == "20191203_4_4_0"
    assert entry.part.partition_id == "20191203"
    assert entry.required == 3
    assert entry.replicas == ("r1", "r\t2")


def test_reads_an_entry_of_a_table_by_month() -> None:
    data = WAITING.replace(b"20191203_4_4_0", b"20191201_20191220_4_4_0")
    assert parse_quorum_entry(data, 0, STATUS).part.partition_id == "201912"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1: expected 'version: 1'"),
        (WAITING.replace(b"version: 1", b"version: 2"), "line 1: expected 'version: 1', found 'version: 2'"),
        (WAITING.replace(b"20191203_4_4_0", b"20191203"), "'20191203' is not the name of a part"),
        (WAITING.replace(b"replicas: 3", b"replicas: three"), "line 3: expected a decimal number"),
        (WAITING.replace(b"replicas: 2", b"replicas: 3"), "line 8: expected the name of a replica"),
        (WAITING.replace(b"replicas: 2", b"replicas: 1"), "line 7: expected the end of the text"),
        (WAITING[:-1], "line 7: expected the name of a replica and a newline"),
    ],
)
def test_refuses_unknown_text(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        parse_quorum_entry(data, 1, STATUS)
    assert STATUS in caught.value.message


@given(st.binary())
def test_any_data_is_read_or_refused(data: bytes) -> None:
    for text in (data, WAITING[:-4] + data):
        try:
            assert parse_quorum_entry(text, 1, STATUS).part.text in text.decode()
        except FormatError:
            continue


def test_children_are_names_of_parts() -> None:
    parts = quorum_parts(["2019-12_3_3_0", "2019-1_1_1_0"], 1, FAILED)
    assert [part.partition_id for part in parts] == ["2019-12", "2019-1"]
    assert quorum_parts([], 1, FAILED) == ()


def test_refuses_a_child_that_is_no_part() -> None:
    with pytest.raises(FormatError, match=f"{FAILED}/lock: 'lock' is not the name of a part"):
        quorum_parts(["all_0_0_0", "lock"], 1, FAILED)
