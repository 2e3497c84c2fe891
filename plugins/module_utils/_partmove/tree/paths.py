# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Creates the znodes of this collection, and explains why an ensemble refuses writes."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import AccessDenied, EnsembleError
from ..zip_strict import zip_strict
from .ports import ZnodeReader, ZnodeStore
from .znodes import Create, Reason, Rejected

DEFAULT_ROOT = "/partmove"
"""The default parent of locks, epochs and the ledger."""

_ATTEMPTS = 10


def parent_of(path: str) -> str:
    """Return the path of the parent znode; the root is its own parent."""
    return path.rpartition("/")[0] or "/"


def raise_if_unwritable(store: ZnodeStore, path: str, rejected: Rejected) -> None:
    """Raise AccessDenied or EnsembleError if the rejection concerns every write, not only this multi.

    These reasons are missing permission, a read-only ensemble, and unknown error codes. For the other
    reasons, such as a changed version, the function returns, and the caller retries or reports.
    """
    if rejected.reason is Reason.NO_AUTH:
        raise AccessDenied(
            f"Writing {path} is denied to this identity by the {store.name} ensemble",
            remedy="Give the identity create, write and delete permission there, or use another identity",
        )
    if rejected.reason is Reason.READ_ONLY:
        raise EnsembleError(
            f"{path} cannot be written, the {store.name} ensemble is read-only",
            remedy="Wait until the ensemble has a quorum again",
        )
    if rejected.reason is Reason.OTHER:
        raise EnsembleError(
            f"Writing {path} was rejected by the {store.name} ensemble with error {rejected.code}",
            remedy="Read the error in the log of the server",
        )


def ensure_path(store: ZnodeStore, path: str) -> None:
    """Create the missing znodes of a path, persistent and without data.

    Raises EnsembleError if writes are refused or if another client keeps deleting the znodes.
    """
    for _attempt in range(_ATTEMPTS):
        missing = creates_of_missing(store, [path])
        if not missing:
            return
        outcome = store.commit([missing])[0]
        if isinstance(outcome, Rejected):
            raise_if_unwritable(store, missing[outcome.op_index].path, outcome)
    raise vanishing_znode(store, path)


def creates_of_missing(reader: ZnodeReader, paths: Iterable[str]) -> tuple[Create, ...]:
    """Return operations that create the missing znodes of the paths, without data, parents first."""
    chains = sorted({each for path in paths for each in _chain(path)})
    return tuple(
        Create(each, b"") for each, znode in zip_strict(chains, reader.read(chains)) if znode is None
    )


def vanishing_znode(store: ZnodeStore, path: str) -> EnsembleError:
    """Return the error for a znode that another client deletes again and again."""
    return EnsembleError(
        f"{path} does not stay in the {store.name} ensemble after it was created",
        remedy="Find the client that deletes the znode, then run again",
    )


def _chain(path: str) -> list[str]:
    chain = []
    while path != "/":
        chain.append(path)
        path = parent_of(path)
    return chain[::-1]
