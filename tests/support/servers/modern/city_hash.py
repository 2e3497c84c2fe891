# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""CityHash 1.0.2 with 128 bits, which ClickHouse sums up files with; later releases of CityHash differ."""

from __future__ import annotations

from struct import unpack_from
from typing import NamedTuple

_BITS = (1 << 64) - 1
_K0 = 0xC3A5C85C97CB3127
_K1 = 0xB492B66FBE98F273
_K2 = 0x9AE16A3B2F90404F
_K3 = 0xC949D7C7509E6557
_MIXING = 0x9DDFEA08EB382D69

_BLOCK = 2048
"""Bytes that ClickHouse hashes at once."""


class Hash128(NamedTuple):
    """The two halves of a hash, or of the seed of one."""

    low: int
    high: int


def hash_of_file(content: bytes) -> Hash128:
    """What ClickHouse sends after a file: the seed of each block is the hash of the one before."""
    state = Hash128(0, 0)
    for start in range(0, len(content), _BLOCK):
        state = city_hash_128(content[start : start + _BLOCK], state)
    return state


def city_hash_128(data: bytes, seed: Hash128) -> Hash128:
    """The function CityHash128WithSeed."""
    return _murmur(data, seed) if len(data) < 128 else _long(data, seed)


def _murmur(data: bytes, seed: Hash128) -> Hash128:
    length = len(data)
    a, b = seed
    if length <= 16:
        a = _mixed(a * _K1) * _K1 & _BITS
        c = (b * _K1 + _short(data)) & _BITS
        d = _mixed(a + (_word(data, 0) if length >= 8 else c))
    else:
        c = _folded(_word(data, length - 8) + _K1, a)
        d = _folded(b + length, c + _word(data, length - 16))
        a = (a + d) & _BITS
        for at in range(0, length - 16, 16):
            a = (a ^ _mixed(_word(data, at) * _K1) * _K1) * _K1 & _BITS
            b ^= a
            c = (c ^ _mixed(_word(data, at + 8) * _K1) * _K1) * _K1 & _BITS
            d ^= c
    a = _folded(a, c)
    b = _folded(d, b)
    return Hash128(a ^ b, _folded(b, a))


def _short(data: bytes) -> int:
    """The hash of at most 16 bytes, with 64 bits."""
    length = len(data)
    if length > 8:
        last = _word(data, length - 8)
        return _folded(_word(data, 0), _rotated(last + length, length)) ^ last
    if length >= 4:
        (first,) = unpack_from("<I", data)
        (last,) = unpack_from("<I", data, length - 4)
        return _folded(length + (first << 3), last)
    if length:
        y = data[0] + (data[length >> 1] << 8)
        z = length + (data[-1] << 2)
        return _mixed(y * _K2 ^ z * _K3) * _K2 & _BITS
    return _K2


def _long(data: bytes, seed: Hash128) -> Hash128:
    length = len(data)
    x, y = seed
    z = length * _K1 & _BITS
    first = _rotated(y ^ _K1, 49) * _K1 + _word(data, 0) & _BITS
    v = first, _rotated(first, 42) * _K1 + _word(data, 8) & _BITS
    w = _rotated(y + z, 35) * _K1 + x & _BITS, _rotated(x + _word(data, 88), 53) * _K1 & _BITS
    rest = length % 128
    for at in range(0, length - rest, 64):
        x = _rotated(x + y + v[0] + _word(data, at + 16), 37) * _K1 & _BITS ^ w[1]
        y = _rotated(y + v[1] + _word(data, at + 48), 42) * _K1 & _BITS ^ v[0]
        z = _rotated(z ^ w[0], 33)
        v = _weak(data, at, v[1] * _K1, x + w[0])
        w = _weak(data, at + 32, z + w[1], y)
        z, x = x, z
    y = y + _rotated(w[0], 37) * _K0 + z & _BITS
    x = x + _rotated(v[0] + z, 49) * _K0 & _BITS
    # From the end, in steps of 32 bytes, which may reach into what was hashed before.
    for back in range(32, rest + 32, 32):
        at = length - back
        y = _rotated(y - x, 42) * _K0 + v[1] & _BITS
        w = w[0] + _word(data, at + 16) & _BITS, w[1]
        x = _rotated(x, 49) * _K0 + w[0] & _BITS
        w = w[0] + v[0] & _BITS, w[1]
        v = _weak(data, at, *v)
    x = _folded(x, v[0])
    y = _folded(y, w[0])
    return Hash128(_folded(x + v[1], w[1]) + y & _BITS, _folded(x + w[1], y + v[1]))


def _weak(data: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """A quick hash of 32 bytes, with two seeds."""
    w, x, y, z = unpack_from("<4Q", data, at)
    a += w
    b = _rotated(b + a + z, 21)
    sum_of_three = a + x + y
    return sum_of_three + z & _BITS, b + _rotated(sum_of_three, 44) + a & _BITS


def _folded(low: int, high: int) -> int:
    """The hash of 16 bytes that stand in two numbers."""
    low &= _BITS
    high &= _BITS
    a = _mixed((low ^ high) * _MIXING)
    return _mixed((high ^ a) * _MIXING) * _MIXING & _BITS


def _mixed(value: int) -> int:
    value &= _BITS
    return value ^ value >> 47


def _rotated(value: int, bits: int) -> int:
    """Rotate to the right by 1 to 63 bits."""
    value &= _BITS
    return (value >> bits | value << 64 - bits) & _BITS


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")
