# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Texts and classes of errors."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    EnsembleError,
    EnsembleUnreachable,
    FormatError,
    LeaseHeld,
    LeaseLost,
    NoSuchReplica,
    NoSuchTable,
    PartMoveError,
    PlanError,
    SameEnsemble,
)

OF_AN_ENSEMBLE = (AccessDenied, EnsembleUnreachable, SameEnsemble)
OTHERS = (FormatError, LeaseHeld, LeaseLost, NoSuchReplica, NoSuchTable, PlanError)


@pytest.mark.parametrize(
    ("message", "remedy", "text"),
    [
        ("/a is not a table", "Correct the path", "/a is not a table. Correct the path."),
        ("/a is not a table.", "Correct the path.", "/a is not a table. Correct the path."),
        ("/a is not a table", "", "/a is not a table."),
        ("", "Correct the path", "Correct the path."),
    ],
)
def test_an_error_is_shown_as_sentences(message: str, remedy: str, text: str) -> None:
    error = PartMoveError(message, remedy=remedy)
    assert str(error) == text
    assert (error.message, error.remedy) == (message, remedy)


@pytest.mark.parametrize("kind", [*OF_AN_ENSEMBLE, *OTHERS])
def test_every_error_is_a_part_move_error(kind: type[PartMoveError]) -> None:
    with pytest.raises(PartMoveError, match=r"^It is so\. Do this\.$"):
        raise kind("It is so", remedy="Do this")


def test_only_errors_of_an_ensemble_are_ensemble_errors() -> None:
    assert all(issubclass(kind, EnsembleError) for kind in OF_AN_ENSEMBLE)
    assert not any(issubclass(kind, EnsembleError) for kind in OTHERS)
