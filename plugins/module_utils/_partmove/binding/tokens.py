# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tokens of runs: recognise a hot ensemble that is a copy, or that was set back to a backup.

A copy of the files of a hot ensemble has the identity, transaction ids and times of the original. Only what
happened since differs. So runs replace a random token in cold, after hot has got the token, too. The znodes
are below the coordination root::

    hot   <root>/tokens                  for each cold ensemble, a TokenChain
    cold  <root>/hots/<hot id>/token     Token: the token of the newest run

States of a pair: without a token → (in hot → in both)*, at every run again. A token in cold that hot does not
know was written by another ensemble with the same identity, or by this one before it was set back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NamedTuple
from uuid import uuid4

from ..envelope import Envelope
from ..records import Record, mapping_of, satisfying
from ..tree.znodes import Znode

_KEPT = 32
"""The number of tokens that hot keeps: reads without a lease may meet this many runs between two requests."""

_REMEDY = "Use the version of olap.partmove that wrote the znode, or find out which client wrote it"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{32}", value, re.ASCII) is not None


_TEXT = satisfying(_is_text, "32 hexadecimal digits")
_TEXTS = satisfying(
    lambda value: isinstance(value, list) and bool(value) and all(map(_is_text, value)),
    "a list of 32 hexadecimal digits each",
)
_NUMBER = satisfying(
    lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0, "a positive number"
)
_CHAIN = Record({"number": _NUMBER, "tokens": _TEXTS}, remedy=_REMEDY)
_HOT_ENVELOPE = Envelope("record of the tokens of runs", "olap.partmove/tokens-of-hot", 1, _REMEDY)
_HOT = Record({"of_cold": mapping_of(_CHAIN)}, remedy=_REMEDY)
_COLD_ENVELOPE = Envelope("token of the newest run", "olap.partmove/token-in-cold", 1, _REMEDY)
_COLD = Record({"number": _NUMBER, "token": _TEXT}, remedy=_REMEDY)


class Token(NamedTuple):
    """The token of one run."""

    number: int
    """Grows by one with each token, from 1."""
    text: str
    """32 random hexadecimal digits."""

    def encode(self) -> bytes:
        """Return the data of the znode in cold."""
        fields = {"number": self.number, "token": self.text}
        return json.dumps(_COLD_ENVELOPE.around(fields), sort_keys=True).encode()


class TokenChain(NamedTuple):
    """The newest tokens of a hot ensemble in one cold ensemble."""

    number: int
    """The number of the newest token."""
    texts: tuple[str, ...]
    """The newest token first. Cold may not have it yet."""

    @classmethod
    def of(cls, token: Token) -> TokenChain:
        """Return a chain that begins with the token."""
        return cls(token.number, (token.text,))

    @property
    def newest(self) -> Token:
        """The newest token."""
        return Token(self.number, self.texts[0])

    def knows(self, token: Token) -> bool:
        """Whether the token is of this chain. A token before the kept ones is: cold was set back then."""
        age = self.number - token.number
        return age >= len(self.texts) or (age >= 0 and self.texts[age] == token.text)

    def longer(self) -> TokenChain:
        """Return the chain with a new token."""
        return TokenChain(self.number + 1, (uuid4().hex, *self.texts)[:_KEPT])


Chains = Mapping[str, TokenChain]
"""The id of each cold ensemble → the tokens in it."""


def first_chain() -> TokenChain:
    """Return a chain with one new token."""
    return TokenChain(1, (uuid4().hex,))


def is_unknown(token: Token | None, chain: TokenChain | None) -> bool:
    """Whether cold has a token that hot does not know."""
    return token is not None and (chain is None or not chain.knows(token))


def tokens_path(root: str) -> str:
    """Return the path in hot of the tokens."""
    return f"{root}/tokens"


def token_path(root: str, hot_id: str) -> str:
    """Return the path in cold of the token of a hot ensemble."""
    return f"{root}/hots/{hot_id}/token"


def encode_chains(chains: Chains) -> bytes:
    """Return the data of the znode in hot."""
    of_cold = {each: {"number": chain.number, "tokens": chain.texts} for each, chain in chains.items()}
    return json.dumps(_HOT_ENVELOPE.around({"of_cold": of_cold}), sort_keys=True).encode()


def parse_chains(znode: Znode | None) -> dict[str, TokenChain]:
    """Parse the tokens in hot; none for a missing znode. Raises FormatError for other data."""
    if znode is None:
        return {}
    where = f"The data of {znode.path}"
    fields = _HOT.read(_HOT_ENVELOPE.parsed(znode.data, where), where)
    return {each: TokenChain(of["number"], tuple(of["tokens"])) for each, of in fields["of_cold"].items()}


def parse_token(znode: Znode | None) -> Token | None:
    """Parse the token in cold; None for a missing znode. Raises FormatError for other data."""
    if znode is None:
        return None
    where = f"The data of {znode.path} in the cold ensemble"
    fields = _COLD.read(_COLD_ENVELOPE.parsed(znode.data, where), where)
    return Token(fields["number"], fields["token"])
