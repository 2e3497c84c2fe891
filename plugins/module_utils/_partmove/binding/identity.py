# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The identity of an ensemble, and the hot ensembles to which a cold ensemble belongs.

The znodes are below the coordination root::

    hot, cold  <root>/identity         Identity: a random id, created once
    cold       <root>/hots/<hot id>    BoundHot: a hot ensemble that uses this cold ensemble, by name

Paths, transaction ids and times of two ensembles may coincide; two random ids do not. So an id, and not a
path, says which cluster a cold ensemble and a table belong to. A copy of the files of an ensemble has the
same id: `tokens` recognises it.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple
from uuid import uuid4

from ..envelope import Envelope
from ..records import TEXT, Record, satisfying
from ..tree.znodes import Znode
from .tokens import Token, TokenChain, is_unknown, parse_chains, parse_token

_REMEDY = "Use the version of olap.partmove that wrote the znode, or find out which client wrote it"
_ID = satisfying(
    lambda value: isinstance(value, str) and re.fullmatch(r"[0-9a-f]{32}", value, re.ASCII) is not None,
    "32 hexadecimal digits",
)
_IDENTITY_ENVELOPE = Envelope("identity of an ensemble", "olap.partmove/ensemble", 1, _REMEDY)
_IDENTITY = Record({"id": _ID}, remedy=_REMEDY)
_BOUND_ENVELOPE = Envelope("hot ensemble of a cold ensemble", "olap.partmove/hot-of-cold", 1, _REMEDY)
_BOUND = Record({"name": TEXT}, remedy=_REMEDY)


class Identity(NamedTuple):
    """The content of an identity znode."""

    id: str
    """32 random hexadecimal digits."""

    @classmethod
    def new(cls) -> Identity:
        """Return an identity that no other ensemble has."""
        return cls(uuid4().hex)

    def encode(self) -> bytes:
        """Return the data of the znode."""
        return json.dumps(_IDENTITY_ENVELOPE.around(self._asdict()), sort_keys=True).encode()


class BoundHot(NamedTuple):
    """A hot ensemble that uses a cold ensemble."""

    name: str
    """A name for people: given by the operator, or the members and the chroot at that time."""

    def encode(self) -> bytes:
        """Return the data of the znode."""
        fields = _BOUND_ENVELOPE.around(self._asdict())
        return json.dumps(fields, ensure_ascii=False, sort_keys=True).encode()


class Pair(NamedTuple):
    """The ids of two ensembles, and the hot ensembles of the cold one."""

    hot_id: str
    """Empty before the first run."""
    cold_id: str
    """Empty before the first run."""
    bound_hots: tuple[str, ...]
    """The ids of the hot ensembles in the list of cold, sorted."""
    chain: TokenChain | None = None
    """The tokens of the runs of hot in this cold ensemble; None before the first run."""
    token: Token | None = None
    """The token of the newest run that cold has for the id of hot; None before the first run."""

    @property
    def is_bound(self) -> bool:
        """Whether both ensembles have an identity, and cold lists hot."""
        return bool(self.hot_id and self.cold_id) and self.hot_id in self.bound_hots

    @property
    def is_copied(self) -> bool:
        """Whether another ensemble with the id of hot used cold, or hot did and was set back since."""
        return is_unknown(self.token, self.chain)


class PairZnodes(NamedTuple):
    """The znodes of a pair as read; None for missing znodes."""

    hot_identity: Znode | None
    tokens: Znode | None
    """The tokens in hot."""
    cold_identity: Znode | None
    token: Znode | None
    """The token in cold."""
    bound_hots: tuple[str, ...]

    @property
    def pair(self) -> Pair:
        """The pair. Raises FormatError."""
        hot, cold = (parse_identity(each) for each in (self.hot_identity, self.cold_identity))
        hot_id, cold_id = "" if hot is None else hot.id, "" if cold is None else cold.id
        chain = parse_chains(self.tokens).get(cold_id)
        return Pair(hot_id, cold_id, self.bound_hots, chain, parse_token(self.token))


def identity_path(root: str) -> str:
    """Return the path of the identity of an ensemble."""
    return f"{root}/identity"


def hots_path(root: str) -> str:
    """Return the path in cold of the list of hot ensembles."""
    return f"{root}/hots"


def parse_identity(znode: Znode | None) -> Identity | None:
    """Parse an identity; None for a missing znode. Raises FormatError for other data."""
    if znode is None:
        return None
    where = f"The data of {znode.path}"
    return Identity(**_IDENTITY.read(_IDENTITY_ENVELOPE.parsed(znode.data, where), where))


def parse_bound_hot(znode: Znode) -> BoundHot:
    """Parse a hot ensemble of a cold ensemble. Raises FormatError for other data."""
    where = f"The data of {znode.path} in the cold ensemble"
    return BoundHot(**_BOUND.read(_BOUND_ENVELOPE.parsed(znode.data, where), where))
