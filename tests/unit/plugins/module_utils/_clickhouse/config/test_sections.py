# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The content of an element, wherever it is written."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.merging import (
    merge_elements,
    resolve,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.sections import (
    MergedElement,
    SubstitutionValue,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.xml_document import XmlFile
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.zookeeper_element import (
    ElementContent,
    Node,
)

NODE = "<node><host>{}</host></node>"
A, B = NODE.format("a"), NODE.format("b")


@pytest.mark.parametrize(
    ("inner", "settings", "expected"),
    [
        (A + B, {}, True),
        (B + A, {"root": ""}, True),
        (A, {}, False),
        (A + B + B, {}, False),
        (f"{A}{B}<root>/x</root>", {"root": "/x"}, True),
        (f"{A}{B}<root>/x</root><root>/y</root>", {"root": "/y"}, False),
        (f"{A}{B}<root>/x</root>", {"root": ""}, False),
        (f"{A}{B}<root from_env='R'>/x</root>", {"root": "/x"}, False),
        (f"{A}{B}<root from_env='R'/>", {}, True),
        (A + B.replace("</host>", "</host><secure>1</secure>"), {}, False),
    ],
)
def test_whether_an_element_has_the_desired_content(
    inner: str, settings: dict[str, str], expected: bool
) -> None:
    (said,) = merge_elements("zk", [XmlFile("f", f"<yandex><zk>{inner}</zk></yandex>".encode())])
    found = resolve(said, lambda _name: SubstitutionValue())
    assert isinstance(found, MergedElement)
    assert found.has(ElementContent((Node("a"), Node("b")), settings)) is expected
