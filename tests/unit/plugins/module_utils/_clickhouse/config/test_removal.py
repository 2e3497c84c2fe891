# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The remains of a configuration after removing elements."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.edit import (
    Style,
    ensure_absent,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.removal import MARK, new_file
from support.files.configs import MAIN, METRIKA, MemoryConfig

DROP_IN = "/etc/clickhouse-server/config.d/a.xml"


def absent(main: str, **files: str) -> dict[str, bytes]:
    """Return the remains; the other files are drop_in and metrika."""
    paths = {"drop_in": DROP_IN, "metrika": METRIKA}
    texts = {MAIN: main, **{paths[name]: text for name, text in files.items()}}
    before = MemoryConfig({path: f"<yandex>{text}</yandex>".encode() for path, text in texts.items()})
    return before.after(ensure_absent(before, "zookeeper", Style("auto", "zk", "a.xml"))).files


@pytest.mark.parametrize(
    ("main", "files", "left"),
    [
        ("<zookeeper/>", {}, ""),
        ("<zookeeper><a/></zookeeper><b/><zookeeper/>", {}, "<b/>"),
        ("<zookeeper from_env='X'/>", {}, ""),
        ("<zookeeper incl='zk' optional='1'/>", {}, "<zookeeper incl='zk' optional='1'/>"),
        (f"<zookeeper incl='zk' optional='1'>{MARK}</zookeeper>", {}, ""),
        ("<zookeeper incl='zk'/>", {}, ""),
        (
            "<include_from>a</include_from><zookeeper incl='zk' optional='1'/>",
            {},
            "<include_from>a</include_from>",
        ),
        ("<zookeeper><a/></zookeeper>", {"drop_in": "<zookeeper remove='1'/>"}, ""),
        ("<zookeeper incl='zk' optional='1'/><zookeeper/>", {}, "<zookeeper incl='zk' optional='1'/>"),
    ],
)
def test_what_is_left_of_the_main_file(main: str, files: dict[str, str], left: str) -> None:
    assert absent(main, **files)[MAIN].decode() == f"<yandex>{left}</yandex>"


@pytest.mark.parametrize(
    ("main", "metrika", "left"),
    [
        ("<zookeeper incl='zk'/>", "<zk/>", ""),
        ("<zookeeper incl='zk'/><b incl='zk'/>", "<zk/>", "<zk/>"),
        ("<zookeeper incl='zk'/><zookeeper incl='zk'/>", "<zk/>", ""),
        (f"<zookeeper incl='zk'>{MARK}</zookeeper>", "<zk/>", "<zk/>"),
        (f"<zookeeper incl='zk'>{MARK}</zookeeper>", f"<zk>{MARK}</zk><b/>", "<b/>"),
        ("", f"<zk>{MARK}</zk>", ""),
        ("", "<zk/>", "<zk/>"),
        ("<b incl='zk'/>", f"<zk>{MARK}</zk>", f"<zk>{MARK}</zk>"),
    ],
)
def test_what_is_left_of_the_substitutions(main: str, metrika: str, left: str) -> None:
    assert absent(main, metrika=metrika)[METRIKA].decode() == f"<yandex>{left}</yandex>"


def test_a_file_created_for_an_element_is_deleted_with_it() -> None:
    made = new_file(DROP_IN, "yandex")
    text = made.data.replace(b"\n</yandex>", b"\n    <zookeeper/>\n</yandex>")
    before = MemoryConfig({MAIN: b"<yandex/>", DROP_IN: text})
    (edit,) = ensure_absent(before, "zookeeper", Style("auto", "zk", "a.xml")).edits
    assert (edit.path, edit.after, made.exists) == (DROP_IN, None, False)
