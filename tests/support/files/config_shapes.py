# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Configurations in the shapes in which people have them, for a real server and for the module."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

FOLDER_MARK = "@folder@"
ENVIRONMENT = {"HOT_HOST": "zk1", "HOT": "<node><host>zk1</host></node>", "EMPTY": ""}
_MAIN, _METRIKA = "config.xml", "metrika.xml"
_INCLUDE = f"<include_from>{FOLDER_MARK}/{_METRIKA}</include_from>"
_OPTIONAL = '<zookeeper incl="zookeeper-servers" optional="true" />'


@dataclass(frozen=True)
class Shape:
    """One configuration.

    files: text by path below a folder, for whose path `FOLDER_MARK` stands in the text.
    style: what the module is told; "" is its default, which may be a file of this machine where there is no
        <include_from>.
    encoding, mark: how config.xml is written.
    extracted: what clickhouse-extract-from-config answers where the page says something else of the server.
    """

    files: Mapping[str, str]
    style: str = "drop_in"
    encoding: str = "utf-8"
    mark: bytes = b""
    environment: Mapping[str, str] = field(default_factory=lambda: ENVIRONMENT)
    extracted: str = ""

    def environment_in(self, folder: Path) -> dict[str, str]:
        """The variables of the server, with the path of the folder."""
        return {name: text.replace(FOLDER_MARK, str(folder)) for name, text in self.environment.items()}

    def write(self, folder: Path) -> None:
        """Write the files below the folder, which exists."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            is_main = name == _MAIN
            data = text.replace(FOLDER_MARK, str(folder)).encode(self.encoding if is_main else "utf-8")
            path.write_bytes((self.mark if is_main else b"") + data)


def nodes(*hosts: str) -> str:
    """Members as they are mostly written."""
    return "".join(
        f'\n        <node index="{index}"><host>{host}</host><port>2181</port></node>'
        for index, host in enumerate(hosts, start=1)
    )


def section(*hosts: str, attributes: str = "") -> str:
    """The element of the hot ensemble."""
    return f"<zookeeper{attributes}>{nodes(*hosts)}\n    </zookeeper>"


def root(content: str, name: str = "yandex") -> str:
    """A file with one child of the root for each line."""
    return f"<{name}>\n    {content}\n</{name}>\n"


def main(content: str, name: str = "yandex", declaration: str = '<?xml version="1.0"?>\n') -> str:
    """A config.xml, with what a server needs to tell what it has read."""
    needed = f"<path>{FOLDER_MARK}/data/</path>\n    <logger><level>none</level></logger>"
    return declaration + root(f"{needed}\n    <!-- Ours since 2018 -->\n    {content}", name)


def _declared(name: str) -> str:
    return f'<?xml version="1.0" encoding="{name}"?>\n<!-- caf\xe9 -->\n'


_HOT = section("zk1", "zk2")
_SERVERS = root(f"<zookeeper-servers>{nodes('zk1', 'zk2')}</zookeeper-servers>")
_WITH_INCLUDE = main(f"{_INCLUDE}\n    {_OPTIONAL}")

SHAPES: Mapping[str, Shape] = {
    "nothing about ensembles": Shape({_MAIN: main("")}),
    "`<zookeeper>` in config.xml": Shape({_MAIN: main(_HOT)}),
    "the same, cold beside it": Shape({_MAIN: main(_HOT)}, "inline"),
    "Debian's optional reference, substitutions": Shape({_MAIN: _WITH_INCLUDE, _METRIKA: _SERVERS}, ""),
    "the same, without a value": Shape({_MAIN: _WITH_INCLUDE, _METRIKA: root("")}, ""),
    "Debian's optional reference, section in config.d": Shape(
        {_MAIN: main(_OPTIONAL), "config.d/zookeeper.xml": root(_HOT)}
    ),
    "the same, section in conf.d": Shape({_MAIN: main(_OPTIONAL), "conf.d/zk.xml": root(_HOT)}),
    "the same, file of substitutions without it": Shape(
        {_MAIN: _WITH_INCLUDE, _METRIKA: root("<macros/>"), "config.d/zookeeper.xml": root(_HOT)}, ""
    ),
    "optional reference with a value and a section": Shape(
        {_MAIN: _WITH_INCLUDE, _METRIKA: _SERVERS, "config.d/zookeeper.xml": root(section("zk9"))}, ""
    ),
    "reference that is not optional, without a value": Shape(
        {_MAIN: main(f"{_INCLUDE}<zookeeper incl='none'/>"), _METRIKA: root("")}, ""
    ),
    "reference with nodes of its own as well": Shape(
        {
            _MAIN: main(f"{_INCLUDE}<zookeeper incl='z'>{nodes('zk1')}</zookeeper>"),
            _METRIKA: root("<z><node><host>zk2</host></node></z>"),
        },
        "",
    ),
    "reference with `replace`": Shape(
        {
            _MAIN: main(f"{_INCLUDE}<zookeeper incl='z' replace='1'>{nodes('zk9')}</zookeeper>"),
            _METRIKA: root(f"<z>{nodes('zk1')}</z>"),
        },
        "",
    ),
    "substitution that is a reference": Shape(
        {
            _MAIN: main(f"{_INCLUDE}<zookeeper incl='z'/>"),
            _METRIKA: root(f"<z incl='y'/><y>{nodes('zk1')}</y>"),
        },
        "",
    ),
    "substitution in a node": Shape(
        {
            _MAIN: main(f"{_INCLUDE}<zookeeper><node incl='n'/></zookeeper>"),
            _METRIKA: root("<n><host>zk1</host></n>"),
        },
        "",
    ),
    "substitution twice": Shape(
        {
            _MAIN: main(f"{_INCLUDE}<zookeeper incl='z'/>"),
            _METRIKA: root(f"<z>{nodes('zk1')}</z><z>{nodes('zk9')}</z>"),
        },
        "",
    ),
    "`<include_from>` in a drop-in": Shape(
        {_MAIN: main(_OPTIONAL), "config.d/a.xml": root(_INCLUDE), _METRIKA: _SERVERS}, ""
    ),
    "`<include_from>` in two files": Shape(
        {
            _MAIN: main(f"<include_from>/nowhere.xml</include_from>{_OPTIONAL}"),
            "config.d/a.xml": root(_INCLUDE),
            _METRIKA: _SERVERS,
        },
        "",
    ),
    "`<include_from>` twice in a file": Shape(
        {_MAIN: main(f"{_INCLUDE}<include_from>/nowhere.xml</include_from>{_OPTIONAL}"), _METRIKA: _SERVERS},
        "",
    ),
    "`<include_from>` into config.d": Shape(
        {
            _MAIN: main(f"<include_from>{FOLDER_MARK}/config.d/m.xml</include_from>{_OPTIONAL}"),
            "config.d/m.xml": _SERVERS,
        },
        "",
    ),
    "`<include_from>` of config.xml itself": Shape(
        {
            _MAIN: main(
                f"<include_from>{FOLDER_MARK}/{_MAIN}</include_from><zookeeper incl='z'/>"
                f"<z>{nodes('zk1')}</z>"
            )
        },
        "",
    ),
    "`<include_from>` relative": Shape(
        {_MAIN: main(f"<include_from>{_METRIKA}</include_from>{_OPTIONAL}"), _METRIKA: _SERVERS}, ""
    ),
    "`<include_from from_env>`": Shape(
        {_MAIN: main(f"<include_from from_env='WHERE'/>{_OPTIONAL}"), _METRIKA: _SERVERS},
        "",
        environment={"WHERE": f"{FOLDER_MARK}/{_METRIKA}"},
    ),
    "`<include_from>` empty": Shape({_MAIN: main(f"<include_from/>{_OPTIONAL}")}, ""),
    "`<include_from>` of a missing file": Shape(
        {_MAIN: main(f"<include_from>{FOLDER_MARK}/none.xml</include_from>{_OPTIONAL}")}, ""
    ),
    "root `<yandex>`, substitutions `<clickhouse>`": Shape(
        {_MAIN: _WITH_INCLUDE, _METRIKA: _SERVERS.replace("yandex", "clickhouse")}, ""
    ),
    "root `<clickhouse>`": Shape({_MAIN: main(_HOT, "clickhouse")}, ""),
    "root `<clickhouse>`, drop-in `<yandex>`": Shape(
        {_MAIN: main("", "clickhouse"), "config.d/z.xml": root(_HOT)}, ""
    ),
    "root `<clickhouse>`, optional reference": Shape(
        {
            _MAIN: main(f"{_INCLUDE}{_OPTIONAL}", "clickhouse"),
            "config.d/z.xml": root(_HOT, "clickhouse"),
            _METRIKA: root("", "clickhouse"),
        },
        "",
    ),
    "root `<company>`": Shape({_MAIN: main(_HOT, "company")}, ""),
    "root `<config>`, drop-in with the same": Shape(
        {_MAIN: main("", "config"), "config.d/z.xml": root(_HOT, "config")}, ""
    ),
    "host `from_env`": Shape(
        {_MAIN: main("<zookeeper><node><host from_env='HOT_HOST'/></node></zookeeper>")}
    ),
    "element `from_env`": Shape({_MAIN: main("<zookeeper from_env='HOT'/>")}),
    "element `from_env`, optional, not set": Shape(
        {_MAIN: main("<zookeeper from_env='NOT_SET' optional='true'/>")}
    ),
    "`replace` in a drop-in": Shape(
        {_MAIN: main(section("zk9")), "config.d/z.xml": root(section("zk1", attributes=' replace="1"'))}
    ),
    "`replace` beside an optional reference": Shape(
        {_MAIN: main(_OPTIONAL), "config.d/z.xml": root(section("zk1", attributes=' replace="replace"'))}
    ),
    "`remove` in a drop-in": Shape(
        {_MAIN: main(section("zk9")), "config.d/z.xml": root("<zookeeper remove='1'/>")}
    ),
    "`remove`, then a section": Shape(
        {
            _MAIN: main(section("zk9")),
            "conf.d/a.xml": root("<zookeeper remove='1'/>"),
            "config.d/z.xml": root(_HOT),
        }
    ),
    "`remove` of one node": Shape(
        {
            _MAIN: main(section("zk1", "zk2")),
            "config.d/z.xml": root("<zookeeper><node index='2' remove='1'/></zookeeper>"),
        }
    ),
    "`remove` in config.xml": Shape({_MAIN: main(section("zk1", attributes=' remove="1"'))}),
    "nodes in two files": Shape(
        {
            _MAIN: main(section("zk1")),
            "config.d/z.xml": root("<zookeeper><node index='2'><host>zk2</host></node></zookeeper>"),
        }
    ),
    "nodes in two files, one index": Shape(
        {_MAIN: main(section("zk9")), "config.d/z.xml": root(section("zk1", "zk2"))}
    ),
    "settings in another file": Shape(
        {_MAIN: main(_HOT), "config.d/z.xml": root("<zookeeper><root>/x</root></zookeeper>")}
    ),
    "two sections in a file": Shape({_MAIN: main(section("zk1") + section("zk9"))}),
    "sections with attributes that differ": Shape(
        {_MAIN: main(section("zk1", attributes=' note="x"')), "config.d/z.xml": root(section("zk9"))}
    ),
    "drop-ins in both folders": Shape(
        {
            _MAIN: main(section("zk8")),
            "conf.d/z.xml": root(section("zk9")),
            "config.d/a.xml": root(section("zk1", "zk2")),
        }
    ),
    "`.conf`, hidden, other and YAML files": Shape(
        {
            _MAIN: main(""),
            "config.d/z.conf": root(_HOT),
            "config.d/.z.xml": root(section("zk9")),
            "config.d/z.xml.bak": root(section("zk9")),
            "config.d/z.yaml": "# zookeeper\na: b",
        }
    ),
    "config.d is a file": Shape({_MAIN: main(_HOT), "config.d": "x"}, "inline"),
    "CRLF": Shape({_MAIN: main(_HOT).replace("\n", "\r\n")}, "inline"),
    "CR": Shape({_MAIN: main(_HOT).replace("\n", "\r")}, "inline"),
    "one line": Shape({_MAIN: main(_HOT).replace("\n", "").replace("    ", "")}, "inline"),
    "comments in between": Shape(
        {_MAIN: main(f"<!-- a --><!--<zookeeper>x</zookeeper>-->{section('zk1')}<!-- b --><!-- c -->")},
        "inline",
    ),
    "comments within": Shape(
        {
            _MAIN: main(
                f"<zookeeper><!-- a -->{nodes('zk1')}<!-- <node><host>zk9</host></node> --></zookeeper>"
            )
        },
        "inline",
    ),
    "CDATA, references and instructions": Shape(
        {_MAIN: main("<?x y?><zookeeper><node><host><![CDATA[z]]>&#107;1</host></node></zookeeper>")},
        "inline",
    ),
    "prefixes": Shape({_MAIN: main(f"<x:a xmlns:x='u' x:b='1'/>{_HOT}")}, "inline"),
    "a prefix that is not bound": Shape({_MAIN: main(f"<x:a/>{_HOT}")}),
    "300 levels of elements": Shape({_MAIN: main("<a>" * 300 + "</a>" * 300 + _HOT)}, "inline"),
    "a text of 11 MB": Shape({_MAIN: main(f"<a>{'x' * 11_000_000}</a>{_HOT}")}, "inline"),
    "a plain document type": Shape(
        {_MAIN: main(_HOT, declaration="<?xml version='1.0'?>\n<!DOCTYPE yandex>\n")}, "inline"
    ),
    "an entity": Shape({_MAIN: main(_HOT, declaration="<!DOCTYPE yandex [<!ENTITY a 'b'>]>\n")}, "inline"),
    "not well-formed": Shape({_MAIN: main(_HOT).replace("</yandex>", "")}),
    "UTF-8 with a mark": Shape({_MAIN: main(_HOT)}, "inline", mark=codecs.BOM_UTF8),
    "UTF-16": Shape({_MAIN: main(_HOT, declaration=_declared("UTF-16"))}, "inline", "utf-16"),
    **{
        f"encoding `{name}`": Shape({_MAIN: main(_HOT, declaration=_declared(name))}, "inline", codec)
        for name, codec in (
            ("utf8", "utf-8"),
            ("ISO-8859-1", "latin-1"),
            ("latin1", "latin-1"),
            ("Latin-9", "iso8859-15"),
            ("latin2", "iso8859-2"),
            ("cp1252", "cp1252"),
            ("windows-1250", "cp1250"),
            ("l1", "latin-1"),
        )
    },
}
"""A name for people, and the configuration; `modern_shapes` has more."""
