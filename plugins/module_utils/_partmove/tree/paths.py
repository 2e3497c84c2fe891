# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Paths that this collection keeps for itself, and what an ensemble that does not let us write says."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import AccessDenied, EnsembleError
from ..zip_strict import zip_strict
from .ports import ZnodeReader, ZnodeStore
from .znodes import Create, Reason, Rejected

DEFAULT_ROOT = "/partmove"
"""Below it are locks, epochs and the ledger, unless another one is given."""

_ATTEMPTS = 10


def parent_of(path: str) -> str:
    """Path of the parent znode; the root is its own parent."""
    return path.rpartition("/")[0] or "/"


def raise_if_unwritable(store: ZnodeStore, path: str, rejected: Rejected) -> None:
    """Raise the error that a person can act on when the ensemble does not let us write at all."""
    if rejected.reason is Reason.NO_AUTH:
        raise AccessDenied(
            f"Writing {path} is denied to this identity by the {store.name} ensemble",
            remedy="Give the identity create, write and delete permission there, or use another one",
        )
    if rejected.reason is Reason.READ_ONLY:
        raise EnsembleError(
            f"{path} cannot be written, the {store.name} ensemble is read-only",
            remedy="Wait until the ensemble has a quorum again",
        )
    if rejected.reason is Reason.OTHER:
        raise EnsembleError(
            f"Writing {path} was rejected by the {store.name} ensemble with error {rejected.code}",
            remedy="See the log of the server for the error",
        )


def ensure_path(store: ZnodeStore, path: str) -> None:
    """Create the persistent znode and its parents, without data, where they are missing."""
    for _attempt in range(_ATTEMPTS):
        missing = creates_of_missing(store, [path])
        if not missing:
            return
        outcome = store.commit([missing])[0]
        if isinstance(outcome, Rejected):
            raise_if_unwritable(store, missing[outcome.op_index].path, outcome)
    raise vanishing_znode(store, path)


def creates_of_missing(reader: ZnodeReader, paths: Iterable[str]) -> tuple[Create, ...]:
    """What creates the znodes and their parents, without data, where they are missing; parents first."""
    wanted = sorted({each for path in paths for each in _chain(path)})
    return tuple(
        Create(each, b"") for each, znode in zip_strict(wanted, reader.read(wanted)) if znode is None
    )


def vanishing_znode(store: ZnodeStore, path: str) -> EnsembleError:
    """The error for a znode that something else deletes again and again."""
    return EnsembleError(
        f"{path} does not stay in the {store.name} ensemble after it was created",
        remedy="See whether something else deletes it, then run again",
    )


def _chain(path: str) -> list[str]:
    chain = []
    while path != "/":
        chain.append(path)
        path = parent_of(path)
    return chain[::-1]
