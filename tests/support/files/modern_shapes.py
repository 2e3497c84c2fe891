# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Configurations with what newer servers understand, and those that versions read differently."""

from __future__ import annotations

from collections.abc import Mapping

from support.files.config_shapes import FOLDER_MARK, Shape, main, nodes, root, section

_MAIN, _METRIKA, _DROP_IN = "config.xml", "metrika.xml", "config.d/z.xml"
_NEW = "clickhouse"
_INCLUDE_FROM = f"<include_from>{FOLDER_MARK}/{_METRIKA}</include_from>"
_HOT = section("zk1", "zk2")
_COLD = f"<cold_zookeeper>{nodes('c9')}</cold_zookeeper>"
_RAFT = (
    "<raft_configuration><server><id>1</id><hostname>zk1</hostname><port>9234</port></server>"
    "<server><id>2</id><hostname>zk2</hostname><port>9234</port></server></raft_configuration>"
)


def _keeper(*hosts: str) -> str:
    return f"<keeper>{nodes(*hosts)}</keeper>"


def _keeper_server(inner: str = "") -> str:
    return f"<keeper_server><tcp_port>2181</tcp_port>{_RAFT}{inner}</keeper_server>"


def _included(content: str, values: str, name: str = _NEW) -> dict[str, str]:
    """A configuration that includes values from a file, both with the root of the name."""
    return {_MAIN: main(f"{_INCLUDE_FROM}\n    {content}", name), _METRIKA: root(values, name)}


MODERN_SHAPES: Mapping[str, Shape] = {
    "`<keeper>`": Shape({_MAIN: main(_keeper("zk1", "zk2"), _NEW)}),
    "`<keeper>` in a drop-in": Shape({_MAIN: main("", _NEW), _DROP_IN: root(_keeper("zk1"), _NEW)}),
    "`<keeper>` beside `<zookeeper>`": Shape(
        {_MAIN: main(_HOT + _keeper("zk3"), _NEW)}, extracted="loads, zk1, zk2"
    ),
    "`<keeper_server>`": Shape({_MAIN: main(_keeper_server(), _NEW)}),
    "`<keeper_server>` beside `<zookeeper>`": Shape({_MAIN: main(_HOT + _keeper_server(), _NEW)}),
    "`<keeper_server>` with `use_cluster` off": Shape(
        {_MAIN: main(_keeper_server("<use_cluster>false</use_cluster>"), _NEW)}
    ),
    "`<include incl>` of the hot section": Shape(_included("<include incl='z'/>", f"<z>{_HOT}</z>")),
    "the same, root `<yandex>`": Shape(_included("<include incl='z'/>", f"<z>{_HOT}</z>", "yandex")),
    "`<include incl>` of both sections": Shape(_included("<include incl='z'/>", f"<z>{_HOT}{_COLD}</z>")),
    "`<include incl>` twice, one value": Shape(
        _included("<include incl='z'/><other><include incl='z'/></other>", f"<z>{_HOT}</z>")
    ),
    "`<include incl>` before a section": Shape(
        _included("<include incl='z'/>" + section("zk9"), f"<z>{section('zk1')}</z>")
    ),
    "`<include incl>` in two files": Shape(
        {
            **_included("<include incl='a'/>", f"<a>{section('zk9')}</a><b>{section('zk1')}</b>"),
            _DROP_IN: root("<include incl='b'/>", _NEW),
        }
    ),
    "`<include incl>` of `<keeper>`": Shape(_included("<include incl='z'/>", f"<z>{_keeper('zk1')}</z>")),
    "`<include incl>` without a value": Shape(_included("<include incl='z' optional='1'/>", _HOT)),
    "`<include incl>` of a reference": Shape(
        _included("<include incl='z'/>", f"<z><zookeeper incl='y'/></z><y>{nodes('zk1')}</y>")
    ),
    "`<include incl merge>`": Shape(
        _included(section("zk9") + "<include incl='z' merge='1'/>", f"<z>{section('zk1')}</z>")
    ),
    "`<include>` of the nodes": Shape(
        _included("<zookeeper><include incl='z'/></zookeeper>", f"<z>{nodes('zk1', 'zk2')}</z>")
    ),
    "`<include from_env>` of the hot section": Shape(
        {_MAIN: main("<include from_env='SECTION'/>", _NEW)},
        environment={"SECTION": "<zookeeper><node><host>zk1</host></node></zookeeper>"},
    ),
    "`<include from_env>` after the section": Shape(
        {_MAIN: main(f"{_HOT}<include from_env='SECTION'/>", _NEW)}, environment={"SECTION": "<a>1</a>"}
    ),
    "`<include from_zk>`": Shape({_MAIN: main(f"{_HOT}<include from_zk='/a'/>", _NEW)}),
    "`Z.XML` with the section": Shape({_MAIN: main("", _NEW), "config.d/Z.XML": root(_HOT, _NEW)}),
    "`Z.XML`, root `<yandex>`": Shape({_MAIN: main(""), "config.d/Z.XML": root(_HOT)}),
    "`Z.XML` that removes what `a.xml` has": Shape(
        {
            _MAIN: main("", _NEW),
            "conf.d/a.xml": root(_HOT, _NEW),
            "config.d/Z.XML": root("<zookeeper remove='1'/>", _NEW),
        }
    ),
    "`z.Conf` that removes the cold section": Shape(
        {_MAIN: main(_HOT, _NEW), "config.d/z.Conf": root("<cold_zookeeper remove='1'/>", _NEW)}
    ),
    "root `<company>`, drop-in `<clickhouse>`": Shape(
        {_MAIN: main("", "company"), _DROP_IN: root(_HOT, _NEW)}
    ),
    "root `<company>`, drop-in `<clickhouse>` of the cold name": Shape(
        {_MAIN: main(_HOT, "company"), "config.d/cold_zookeeper.xml": root("<a/>", _NEW)}
    ),
    "root `<company>`, substitutions of the same": Shape(
        _included("<zookeeper incl='z'/>", f"<z>{nodes('zk1')}</z>", "company"), ""
    ),
    "root `<yandex>`, drop-in `<company>`": Shape({_MAIN: main(""), _DROP_IN: root(_HOT, "company")}),
    "root `<clickhouse>`, drop-in `<company>`": Shape(
        {_MAIN: main("", _NEW), _DROP_IN: root(_HOT, "company")}
    ),
    "root `<clickhouse>`, substitutions": Shape(
        _included("<zookeeper incl='z' optional='1'/>", f"<z>{nodes('zk1', 'zk2')}</z>"), ""
    ),
    "reference, then a section in a drop-in": Shape(
        {
            **_included("<zookeeper incl='z'/>", f"<z>{nodes('zk9')}</z>"),
            _DROP_IN: root(section("zk1"), _NEW),
        }
    ),
    "the same reference, root `<yandex>`": Shape(
        {
            **_included("<zookeeper incl='z'/>", f"<z>{nodes('zk9')}</z>", "yandex"),
            _DROP_IN: root(section("zk1")),
        }
    ),
    "section, then a reference in a drop-in": Shape(
        {**_included(section("zk1"), f"<z>{nodes('zk2')}</z>"), _DROP_IN: root("<zookeeper incl='z'/>", _NEW)}
    ),
    "`replace` with a reference in a drop-in": Shape(
        {
            **_included(section("zk9"), f"<z>{nodes('zk1')}</z>"),
            _DROP_IN: root(f"<zookeeper replace='1' incl='z'>{nodes('zk8')}</zookeeper>", _NEW),
        }
    ),
    "`remove` of a node in the same file": Shape(
        {
            _MAIN: main("", _NEW),
            _DROP_IN: root(
                f"<zookeeper><node remove='1'><host>zk9</host></node>{nodes('zk1')}</zookeeper>", _NEW
            ),
        }
    ),
    "`from_env` in a setting of a node": Shape(
        {
            _MAIN: main(
                "<zookeeper><node><host>zk1</host><port>2181</port><availability_zone from_env='AZ'/></node>"
                "</zookeeper>",
                _NEW,
            )
        },
        environment={"AZ": "a"},
    ),
    "`from_env` elsewhere": Shape(
        {_MAIN: main(f"{_HOT}<macros><replica from_env='AZ'/></macros>", _NEW)}, environment={"AZ": "a"}
    ),
    "`from_env` beside a value": Shape(
        {_MAIN: main("<zookeeper><node><host from_env='AZ'>zk1</host></node></zookeeper>", _NEW)},
        environment={"AZ": "a"},
    ),
    "`from_env` in every host, as in charts of Kubernetes": Shape(
        {
            _MAIN: main(
                "<zookeeper>"
                + "".join(
                    f"<node><host from_env='KEEPER_NODE_{index}'></host><port>2181</port></node>"
                    for index in range(2)
                )
                + "</zookeeper>"
                + _keeper_server().replace(">zk1<", " from_env='KEEPER_NODE_0'><"),
                _NEW,
            )
        },
        environment={"KEEPER_NODE_0": "zk1", "KEEPER_NODE_1": "zk2"},
    ),
    "host with `${…}`": Shape(
        {_MAIN: main("<hot>zk1</hot><zookeeper><node><host>${hot}</host></node></zookeeper>", _NEW)},
        extracted="loads, zk1",
    ),
    "ports of members, and none": Shape(
        {
            _MAIN: main(
                "<zookeeper><node><host>zk1</host></node><node><host>zk2</host><port>9181</port></node>"
                "</zookeeper>",
                _NEW,
            )
        }
    ),
    "`<include_from>` with white space": Shape(
        {_MAIN: main(f"<include_from> {FOLDER_MARK}/{_METRIKA}\n</include_from>", _NEW), _METRIKA: root("")}
    ),
}
"""A name for people, and the configuration; of hosts, zk1 comes first where servers agree."""
