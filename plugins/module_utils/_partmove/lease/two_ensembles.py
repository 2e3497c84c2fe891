# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks that hot and cold are two ensembles, before any work with them."""

from __future__ import annotations

from ..errors import AccessDenied, EnsembleError, SameEnsemble
from ..tree.paths import DEFAULT_ROOT, ensure_path, raise_if_unwritable
from ..tree.ports import ZnodeReader, ZnodeStore
from ..tree.znodes import Create, Delete, Rejected

_ATTEMPTS = 5


def check_distinct_addresses(hot: ZnodeStore, cold: ZnodeStore) -> None:
    """Raise SameEnsemble if hot and cold have an address in common. Sends no request."""
    common = sorted(set(hot.addresses) & set(cold.addresses))
    if common:
        raise _same(f"both were given the address {common[0]}")


def check_nonce_invisible(hot: ZnodeStore, cold: ZnodeStore, token: str, *, root: str = DEFAULT_ROOT) -> None:
    """Create an ephemeral znode, the nonce, in hot. Raise SameEnsemble if cold has the nonce, too.

    The chroots do not matter: cold is read at the absolute path. In overlays, the check is harmless but
    proves nothing; see `check_different_history`.

    token: the name of the nonce, unique for each call.

    Without the nonce in hot, its absence in cold proves nothing. So hot must have it after cold was read: a
    session may end, and the nonce with it.
    """
    ensure_path(hot, f"{root}/nonces")
    path = f"{root}/nonces/{token}"
    try:
        for _attempt in range(_ATTEMPTS):
            _create_nonce(hot, path)
            cold.sync("/")
            if _is_there(cold, f"{hot.chroot}{path}"):
                raise _same(f"a znode created in hot exists in cold as {hot.chroot}{path}")
            hot.sync("/")
            if hot.read([path])[0] is not None:
                return
    finally:
        hot.commit([(Delete(path, 0),)])
    raise _no_nonce(hot, path)


def _create_nonce(hot: ZnodeStore, path: str) -> None:
    for _attempt in range(_ATTEMPTS):
        outcome = hot.commit([(Create(path, b"", ephemeral=True),)])[0]
        if hot.read([path])[0] is not None:
            return
        if isinstance(outcome, Rejected):
            raise_if_unwritable(hot, path, outcome)
    raise _no_nonce(hot, path)


def _no_nonce(hot: ZnodeStore, path: str) -> EnsembleError:
    return EnsembleError(
        f"{path} could not be created in the {hot.name} ensemble, so hot and cold cannot be distinguished",
        remedy="Check whether another client deletes it, or the connection keeps breaking, and run again",
    )


def check_different_history(hot: ZnodeStore, cold: ZnodeStore, path: str) -> None:
    """Raise SameEnsemble if a znode of hot was created in cold by the same transaction at the same time.

    Two ensembles never create a path with the same transaction id and time. Writes nothing.
    """
    original = hot.read([path])[0]
    absolute = f"{hot.chroot}{path}"
    if original is None:
        return
    twin = cold.read([absolute], absolute=True)[0]
    if twin is not None and (twin.stat.czxid, twin.stat.ctime) == (
        original.stat.czxid,
        original.stat.ctime,
    ):
        raise _same(f"{absolute} was created by the same transaction in both")


def _is_there(reader: ZnodeReader, path: str) -> bool:
    try:
        return reader.read([path], absolute=True)[0] is not None
    except AccessDenied:
        # Only a znode that exists can be denied.
        return True


def _same(evidence: str) -> SameEnsemble:
    return SameEnsemble(
        f"Hot and cold are one ensemble: {evidence}",
        remedy="Give the hosts of a second ensemble as cold",
    )
