# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Binds a pair of ensembles: both get an identity, and the cold ensemble lists the hot ensemble.

States of a pair: unbound → bound, permanently. All writes create znodes, or are conditional on the list as it
was read, so they need no lease: of two hot ensembles that find an empty list, one is refused.

A bound pair has a token, which `write_token` replaces. All writes are conditional on both tokens as they were
read, hot first. A run that ends between the two leaves a token in hot alone, which the next run writes to
cold. So hot knows the token in cold at any time, unless another ensemble with its identity wrote it.
"""

from __future__ import annotations

from ...binding.binding import refuse_copied_hot, settled
from ...binding.identity import (
    BoundHot,
    Identity,
    Pair,
    PairZnodes,
    hots_path,
    identity_path,
    parse_bound_hot,
    parse_identity,
)
from ...binding.tokens import (
    Token,
    TokenChain,
    encode_chains,
    first_chain,
    parse_chains,
    token_path,
    tokens_path,
)
from ...errors import EnsembleError
from ...tree.paths import ensure_path, raise_if_unwritable
from ...tree.ports import ZnodeStore
from ...tree.znodes import Committed, Create, Multi, Op, Outcome, Query, Rejected, SetData, Znode

_ATTEMPTS = 10


def read_pair(hot: ZnodeStore, cold: ZnodeStore, root: str) -> Pair:
    """Read the newest state of a pair. Raises FormatError for unknown data, and EnsembleError and kin."""
    return settled(hot, cold, root, _read(hot, cold, root))


def _read(hot: ZnodeStore, cold: ZnodeStore, root: str) -> PairZnodes:
    path, folder = identity_path(root), hots_path(root)
    hot.sync(path)
    cold.sync(path)
    in_hot, tokens = hot.read([path, tokens_path(root)])
    identity = parse_identity(in_hot)
    of_hot = [] if identity is None else [token_path(root, identity.id)]
    in_cold = cold.ask([Query([path, *of_hot], [folder])])[0]
    token = in_cold.znodes[1] if of_hot else None
    return PairZnodes(in_hot, tokens, in_cold.znodes[0], token, in_cold.children[0] or ())


def bind_pair(hot: ZnodeStore, cold: ZnodeStore, root: str, name: str, *, may_join: bool) -> Pair:
    """Bind the pair, and return it.

    name: the name of the hot ensemble for people.
    may_join: whether the cold ensemble may already have other hot ensembles. Otherwise the pair is returned
    unbound then.

    Raises FormatError for unknown data, and EnsembleError and kin.
    """
    for _attempt in range(_ATTEMPTS):
        pair = read_pair(hot, cold, root)
        if pair.is_bound and pair.token is None:
            write_token(hot, cold, root)
        elif pair.is_bound or (pair.bound_hots and not may_join):
            return pair
        elif not pair.hot_id:
            _identify(hot, root)
        elif not pair.cold_id:
            _identify(cold, root)
        else:
            _list_hot(cold, root, pair, BoundHot(name))
    raise EnsembleError(
        f"The hot and the cold ensemble could not be bound to each other in {_ATTEMPTS} tries",
        remedy=f"Find out which program writes below {root}, stop it, and run again",
    )


def write_token(hot: ZnodeStore, cold: ZnodeStore, root: str) -> bool:
    """Replace the token of a bound pair, unless another run does, and return whether the pair had none.

    Without effect for an unbound pair. Raises BindingConflict if hot does not know the token in cold,
    FormatError for unknown data, and EnsembleError and kin.
    """
    before: Token | None = None
    for attempt in range(_ATTEMPTS):
        read = _read(hot, cold, root)
        pair = settled(hot, cold, root, read)
        refuse_copied_hot(pair)
        if not pair.is_bound:
            return False
        if attempt == 0:
            before = pair.token
        elif pair.token != before:
            # Another run of this hot ensemble replaced the token meanwhile, or this one, with a lost answer.
            return before is None
        chain = pair.chain
        if chain is None or pair.token == chain.newest:
            chain = first_chain() if chain is None else chain.longer()
            if not _put(hot, tokens_path(root), _with_chain(read, pair, chain), read.tokens):
                continue
        # Otherwise an earlier run ended between the two writes.
        if _put(cold, token_path(root, pair.hot_id), chain.newest.encode(), read.token):
            return pair.token is None
    raise EnsembleError(
        f"The token of the hot ensemble could not be written in {_ATTEMPTS} tries",
        remedy="Check whether many runs begin at once, or the connection keeps breaking, and run again",
    )


def trust_hot(hot: ZnodeStore, cold: ZnodeStore, root: str) -> bool:
    """Let hot know the token in cold, and return whether it did not. Call it if no other copy of hot runs.

    Raises as `write_token` does, except BindingConflict.
    """
    for attempt in range(_ATTEMPTS):
        read = _read(hot, cold, root)
        pair = settled(hot, cold, root, read)
        if not pair.is_copied or pair.token is None:
            return attempt > 0
        _put(hot, tokens_path(root), _with_chain(read, pair, TokenChain.of(pair.token)), read.tokens)
    raise EnsembleError(
        f"The token of the cold ensemble could not be written to hot in {_ATTEMPTS} tries",
        remedy="Find out which runs begin meanwhile, stop them, and run again",
    )


def renew_identity(hot: ZnodeStore, cold: ZnodeStore, root: str) -> None:
    """Give a copy an identity of its own. Then its tables are another cluster's until they are taken over.

    Raises as `trust_hot` does.
    """
    for _attempt in range(_ATTEMPTS):
        read = _read(hot, cold, root)
        if not settled(hot, cold, root, read).is_copied or read.hot_identity is None:
            return
        _put(hot, identity_path(root), Identity.new().encode(), read.hot_identity)
    raise EnsembleError(
        f"The identity of the hot ensemble could not be renewed in {_ATTEMPTS} tries",
        remedy="Find out which program writes to it, stop it, and run again",
    )


def rename_hot(cold: ZnodeStore, root: str, pair: Pair, name: str) -> bool:
    """Write the name of the hot ensemble of a bound pair, and return whether it had another one.

    Raises as `trust_hot` does.
    """
    path = f"{hots_path(root)}/{pair.hot_id}"
    for attempt in range(_ATTEMPTS):
        cold.sync(path)
        znode = cold.read([path])[0]
        if znode is None or parse_bound_hot(znode).name == name:
            return attempt > 0
        _put(cold, path, BoundHot(name).encode(), znode)
    raise EnsembleError(
        f"The name of the hot ensemble could not be written in {_ATTEMPTS} tries",
        remedy="Find out which program writes to the cold ensemble, stop it, and run again",
    )


def _with_chain(read: PairZnodes, pair: Pair, chain: TokenChain) -> bytes:
    return encode_chains({**parse_chains(read.tokens), pair.cold_id: chain})


def _put(store: ZnodeStore, path: str, data: bytes, before: Znode | None) -> bool:
    """Write the znode if it is as it was read, and return whether it certainly was written."""
    op: Op = Create(path, data) if before is None else SetData(path, data, before.stat.version)
    return isinstance(_send(store, (op,)), Committed)


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


def _send(store: ZnodeStore, multi: Multi) -> Outcome:
    """Send the multi; the caller reads afterwards to find out whether it was applied."""
    outcome = store.commit([multi])[0]
    if isinstance(outcome, Rejected):
        raise_if_unwritable(store, multi[outcome.op_index].path, outcome)
    return outcome
