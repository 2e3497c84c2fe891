# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An error of a server leaves the partition, and an error of the ensemble ends the run."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    EnsembleError,
    FormatError,
    LeaseLost,
    NotPermitted,
    PartMoveError,
    UserRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.leased import (
    AGAIN,
    leave_if_refused,
    left_on_error,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.report import LeftAsIs


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (FormatError("not understood", remedy="See the log"), ("not understood", "See the log")),
        (PartMoveError("no answer"), ("no answer", AGAIN)),
    ],
)
def test_error_of_a_server_leaves_the_partition(error: PartMoveError, why: tuple[str, str]) -> None:
    with pytest.raises(LeftAsIs) as left, left_on_error():
        raise error
    assert left.value.why == why


@pytest.mark.parametrize(
    "error", [LeaseLost("lost"), EnsembleError("unreachable"), NotPermitted("no right"), UserRefused("who")]
)
def test_error_about_all_partitions_ends_the_run(error: PartMoveError) -> None:
    with pytest.raises(type(error)), left_on_error():
        raise error


def test_refusal_leaves_the_partition() -> None:
    leave_if_refused(None)
    with pytest.raises(LeftAsIs) as left:
        leave_if_refused(Refusal(GateName.TWIN_EVEN, "they differ", "Wait"))
    assert left.value.why == ("they differ", "Wait")
