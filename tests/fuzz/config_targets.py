# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parsers of configurations of ClickHouse, with an edit of what they read."""

from __future__ import annotations

from collections.abc import Callable

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.diff import mask_edit
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.edit import (
    Style,
    ensure_absent,
    ensure_present,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.files import Config
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.zookeeper_element import (
    ElementContent,
    Node,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from support.files.configs import MAIN, METRIKA, MemoryConfig, written

from .target import Target

_NODES = '<node index="1"><host>zk1</host></node><!-- x --><node><host>zk2</host></node>'
_CONFIGS = [
    f"""<?xml version="1.0" encoding="{encoding}"?>
<yandex>
    <zookeeper incl="zookeeper-servers" optional="true" />
    <cold_zookeeper>{_NODES}<root>/a</root></cold_zookeeper>
    <a incl="b"><![CDATA[x]]>&amp;</a>
    <auxiliary_zookeepers><cold incl="x" optional="1"/><other>{_NODES}</other></auxiliary_zookeepers>
</yandex>
""".encode()
    for encoding in ("utf-8", "cp1252")
]
_DROP_IN = f"<yandex><zookeeper replace='1'>{_NODES}</zookeeper><x remove='1'/></yandex>".encode()
_YAML = (
    b"zookeeper:\n  node:\n    - {'@index': 1, host: &a zk1}\n    - host: *a\ncold_zookeeper: {'@incl': x}\n"
)
_SUBSTITUTIONS = f"<yandex><zookeeper-servers>{_NODES}</zookeeper-servers></yandex>".encode()


def config_targets() -> list[Target]:
    """One for each kind of file."""
    folder = MAIN.replace(".xml", ".d")
    return [
        _target("configuration of ClickHouse", _CONFIGS, MAIN),
        _target("drop-in of a configuration", [_DROP_IN], f"{folder}/a.xml"),
        Target("drop-in of a configuration, YAML", [_YAML], _sections(f"{folder}/a.yaml"), PartMoveError),
        _target("substitutions of a configuration", [_SUBSTITUTIONS], METRIKA),
    ]


def _target(name: str, corpus: list[bytes], path: str) -> Target:
    return Target(name, corpus, _edit(path), PartMoveError)


def _sections(path: str) -> Callable[[bytes], object]:
    """What is made of it; it is not edited."""
    return lambda data: Config(MemoryConfig({MAIN: _CONFIGS[0], path: data})).sections("zookeeper")


def _edit(path: str) -> Callable[[bytes], None]:
    """Put an ensemble into the configuration with that file, show it, and take it out again."""
    style = Style("auto", "cold-zookeeper-servers", "cold_zookeeper.xml")

    def read(data: bytes) -> None:
        before = MemoryConfig({MAIN: written("debian.xml").encode(), path: data})
        for element in ("cold_zookeeper", "zookeeper", "auxiliary_zookeepers/cold"):
            change = ensure_present(before, element, ElementContent((Node("c1"), Node("c2"))), style)
            for edit in change.edits:
                mask_edit(edit, element.partition("/")[0], change.substitution)
            after = before.after(change)
            after.after(ensure_absent(after, element, style))

    return read
