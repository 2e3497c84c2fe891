# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Definitions of tables as operators have them, created with other settings or by an older version."""

from __future__ import annotations

from collections.abc import Mapping

_VARIANT = {"allow_experimental_variant_type": 1, "allow_suspicious_variant_types": 1}
_SECRET = "encrypt('aes-128-ecb', 'x', '1234567890123456')"
_MANY_COLUMNS = ", ".join(f"c{number:04}_{'x' * 190} String DEFAULT 'v'" for number in range(1350))
"""More text than a server reads by default."""

ODD: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "old syntax": (
        "(day Date, id UInt32) ENGINE = ReplicatedMergeTree('PATH', '{replica}', day, id, 8192)",
        {"allow_deprecated_syntax_for_merge_tree": 1},
    ),
    "LowCardinality": (
        "(day Date, id UInt32, x LowCardinality(UInt8)) ENGINE",
        {"allow_suspicious_low_cardinality_types": 1},
    ),
    "FixedString": (
        "(day Date, id UInt32, x FixedString(300)) ENGINE",
        {"allow_suspicious_fixed_string_types": 1},
    ),
    "codec": ("(day Date, id UInt32 CODEC(LZ4, LZ4)) ENGINE", {"allow_suspicious_codecs": 1}),
    "Variant": ("(day Date, id UInt32, x Variant(UInt8, UInt16)) ENGINE", _VARIANT),
    "JSON": ("(day Date, id UInt32, x JSON) ENGINE", {"allow_experimental_json_type": 1}),
    "statistics": (
        "(day Date, id UInt32 STATISTICS(tdigest)) ENGINE",
        {"allow_experimental_statistics": 1},
    ),
    "Nested": ("(day Date, id UInt32, x Nested(a UInt8, b String)) ENGINE", {"flatten_nested": 0}),
    "flattened": ("(day Date, id UInt32, x Nested(a UInt8, b String)) ENGINE", {}),
    "secret": (f"(day Date, id UInt32, x String DEFAULT {_SECRET}) ENGINE", {}),
    "many columns": (f"(day Date, id UInt32, {_MANY_COLUMNS}) ENGINE", {"max_query_size": 2_000_000}),
    "quoted name": (
        "(day Date, id UInt32, `c) ENGINE = (` UInt8, INDEX i id TYPE minmax GRANULARITY 1) ENGINE",
        {},
    ),
    "settings": ("(day Date, id UInt32) ENGINE", {}),
}
"""Kind → the definition up to ENGINE, or all of it, and the settings with which servers accept it."""
