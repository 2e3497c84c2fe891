# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes sure that hot and cold are two ensembles, before anything else is done with them."""

from __future__ import annotations

from ..errors import AccessDenied, EnsembleError, SameEnsemble
from ..tree.paths import DEFAULT_ROOT, ensure_path, raise_if_unwritable
from ..tree.ports import ZnodeReader, ZnodeStore
from ..tree.znodes import Create, Delete, Rejected

_ATTEMPTS = 5


def check_distinct(hot: ZnodeStore, cold: ZnodeStore) -> None:
    """Raise SameEnsemble when an address of one is an address of the other. Reads nothing, writes nothing."""
    common = sorted(set(hot.addresses) & set(cold.addresses))
    if common:
        raise _same(f"both were given the address {common[0]}")


def check_invisible(hot: ZnodeStore, cold: ZnodeStore, token: str, *, root: str = DEFAULT_ROOT) -> None:
    """Raise SameEnsemble when an ephemeral znode that is created in hot can be seen in cold.

    ``token`` is a name nobody else uses. The chroots do not matter: cold is asked for the absolute
    path. Run over overlays it proves nothing, but does no harm either; see `check_unlike`.
    """
    ensure_path(hot, f"{root}/nonces")
    path = f"{root}/nonces/{token}"
    _create_nonce(hot, path)
    try:
        cold.sync("/")
        if _is_there(cold, f"{hot.chroot}{path}"):
            raise _same(f"a znode created in hot is there in cold as {hot.chroot}{path}")
    finally:
        hot.commit([(Delete(path, 0),)])


def _create_nonce(hot: ZnodeStore, path: str) -> None:
    """Create it for sure: one that is not there cannot be seen in cold, which would prove nothing."""
    for _attempt in range(_ATTEMPTS):
        outcome = hot.commit([(Create(path, b"", ephemeral=True),)])[0]
        znode = hot.read([path])[0]
        if znode is not None and znode.stat.ephemeral_owner == hot.session_id:
            return
        if isinstance(outcome, Rejected):
            raise_if_unwritable(hot, path, outcome)
    raise EnsembleError(
        f"{path} could not be created in the {hot.name} ensemble, so hot and cold cannot be told apart",
        remedy="See whether something else deletes it, or the connection keeps breaking, and run again",
    )


def check_unlike(hot: ZnodeStore, cold: ZnodeStore, path: str) -> None:
    """Raise SameEnsemble when a znode of hot is in cold with the same history. Writes nothing.

    Two ensembles cannot have given one path the same transaction id and time of creation.
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
