# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tokens of runs: what hot knows, and what the znodes say."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.tokens import (
    Token,
    TokenChain,
    encode_chains,
    first_chain,
    is_unknown,
    parse_chains,
    parse_token,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Stat, Znode

A, B, C = ("a" * 32, "b" * 32, "c" * 32)
CHAIN = TokenChain(7, (A, B))
TEXTS = f'["{A}", "{B}"]'


def znode(data: bytes) -> Znode:
    return Znode("/partmove/tokens", data, Stat(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))


@pytest.mark.parametrize(
    ("token", "is_known"),
    [
        (Token(7, A), True),
        (Token(6, B), True),
        (Token(7, B), False),
        (Token(7, C), False),
        (Token(6, A), False),
        (Token(8, A), False),
        (Token(8, B), False),
        (Token(9, A), False),
        (Token(99, A), False),
        (Token(8, C), False),
        (Token(5, C), True),
        (Token(1, C), True),
    ],
)
def test_what_hot_knows(token: Token, is_known: bool) -> None:
    """A later number is unknown; one before all that hot has kept is from a backup of cold."""
    assert CHAIN.knows(token) is is_known
    assert is_unknown(token, CHAIN) is not is_known


def test_without_tokens() -> None:
    assert not is_unknown(None, CHAIN)
    assert not is_unknown(None, None)
    assert is_unknown(Token(1, A), None)


def test_a_longer_chain_knows_what_it_knew() -> None:
    chain = CHAIN.longer()
    assert chain.newest.number == 8
    assert chain.texts[1:] == (A, B)
    assert chain.newest.text not in (A, B)


def test_a_chain_keeps_some_tokens() -> None:
    chain = first_chain()
    assert chain.number == 1
    first = chain.newest
    for _each in range(31):
        chain = chain.longer()
    assert chain.texts[-1] == first.text
    assert len(chain.longer().texts) == 32


def test_a_chain_that_begins_with_a_token() -> None:
    assert TokenChain.of(Token(4, A)) == TokenChain(4, (A,))
    assert TokenChain.of(Token(4, A)).newest == Token(4, A)


def test_znodes_say_what_was_written() -> None:
    chains = {"d" * 32: CHAIN, "e" * 32: first_chain()}
    assert parse_chains(znode(encode_chains(chains))) == chains
    assert parse_token(znode(Token(3, A).encode())) == Token(3, A)
    assert parse_chains(None) == {}
    assert parse_token(None) is None


def test_the_znode_in_cold() -> None:
    fields = f'"format": "olap.partmove/token-in-cold", "number": 3, "token": "{A}", "version": 1'
    assert Token(3, A).encode().decode() == f"{{{fields}}}"


def test_the_znode_in_hot() -> None:
    of_cold = f'"{C}": {{"number": 7, "tokens": {TEXTS}}}'
    fields = f'"format": "olap.partmove/tokens-of-hot", "of_cold": {{{of_cold}}}, "version": 1'
    assert encode_chains({C: CHAIN}).decode() == f"{{{fields}}}"


@pytest.mark.parametrize("data", [b"", b"{}", b'{"format": "olap.partmove/token-in-cold", "version": 2}'])
def test_unknown_data_is_refused(data: bytes) -> None:
    for parse in (parse_token, parse_chains):
        with pytest.raises(FormatError, match="/partmove/tokens"):
            parse(znode(data))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"number": 7', '"number": 0'),
        ('"number": 7', '"number": true'),
        ('"number": 7', '"number": "7"'),
        ('"number": 7', '"number": 7.5'),
        (TEXTS, "[]"),
        (TEXTS, "5"),
        (TEXTS, f'{{"{A}": "{B}"}}'),
        (A, "x"),
        (f'"{A}"', "5"),
    ],
)
def test_values_that_mean_nothing_are_refused(old: str, new: str) -> None:
    data = encode_chains({"d" * 32: CHAIN}).decode()
    assert old in data
    with pytest.raises(FormatError):
        parse_chains(znode(data.replace(old, new).encode()))
