# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Binds a pair of ensembles: both get an identity, and the cold ensemble lists the hot ensemble.

States of a pair: unbound → bound, permanently. All writes create znodes, or are conditional on the list as it
was read, so they need no lease: of two hot ensembles that find an empty list, one is refused.
"""

from __future__ import annotations

from ...binding.identity import BoundHot, Identity, Pair, hots_path, identity_path
from ...errors import EnsembleError
from ...tree.paths import ensure_path, raise_if_unwritable
from ...tree.ports import ZnodeStore
from ...tree.znodes import Create, Multi, Query, Rejected, SetData

_ATTEMPTS = 10


def read_pair(hot: ZnodeStore, cold: ZnodeStore, root: str) -> Pair:
    """Read the newest state of a pair. Raises FormatError for unknown data, and EnsembleError and kin."""
    path, folder = identity_path(root), hots_path(root)
    hot.sync(path)
    cold.sync(path)
    (in_hot,) = hot.read([path])
    in_cold = cold.ask([Query([path], [folder])])[0]
    return Pair.of(in_hot, in_cold.znodes[0], in_cold.children[0])


def bind_pair(hot: ZnodeStore, cold: ZnodeStore, root: str, name: str, *, may_join: bool) -> Pair:
    """Bind the pair, and return it.

    name: the name of the hot ensemble for people.
    may_join: whether the cold ensemble may already have other hot ensembles. Otherwise the pair is returned
    unbound then.

    Raises FormatError for unknown data, and EnsembleError and kin.
    """
    for _attempt in range(_ATTEMPTS):
        pair = read_pair(hot, cold, root)
        if pair.is_bound or (pair.bound_hots and not may_join):
            return pair
        if not pair.hot_id:
            _identify(hot, root)
        elif not pair.cold_id:
            _identify(cold, root)
        else:
            _list_hot(cold, root, pair, BoundHot(name))
    raise EnsembleError(
        f"The hot and the cold ensemble could not be bound to each other in {_ATTEMPTS} tries",
        remedy=f"Find out which program writes below {root}, stop it, and run again",
    )


def name_of(store: ZnodeStore) -> str:
    """Return the members and the chroot of an ensemble, for messages."""
    return f"{','.join(store.addresses)}{store.chroot}"


def _identify(store: ZnodeStore, root: str) -> None:
    path = identity_path(root)
    ensure_path(store, root)
    _send(store, (Create(path, Identity.new().encode()),))


def _list_hot(cold: ZnodeStore, root: str, pair: Pair, hot: BoundHot) -> None:
    """Add hot to the list, unless the list has changed since it was read."""
    folder = hots_path(root)
    ensure_path(cold, folder)
    read = cold.ask([Query([folder], [folder])])[0]
    znode = read.znodes[0]
    if znode is None or (read.children[0] or ()) != pair.bound_hots:
        return
    # The data version of the folder counts the additions: of two concurrent additions, one is rejected.
    addition = Create(f"{folder}/{pair.hot_id}", hot.encode())
    _send(cold, (SetData(folder, b"", znode.stat.version), addition))


def _send(store: ZnodeStore, multi: Multi) -> None:
    """Send the multi; the caller reads afterwards to find out whether it was applied."""
    outcome = store.commit([multi])[0]
    if isinstance(outcome, Rejected):
        raise_if_unwritable(store, multi[outcome.op_index].path, outcome)
