# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replaces the messages of the domain, so that a test cannot fail because of the words of a message.

`blanked` rewrites a source file: each message in it becomes an `AnyText`, which equals every text. What is
left for a test to notice is behaviour: which error, gate or kind, for which partition, and what was written.
"""

from __future__ import annotations

import ast
import re
from enum import Enum
from typing import Any

BLANK = "BLANKED"
"""The only content of a blanked message."""

_IMPORT = ast.parse(
    "from mutants.any_text import any_text as _any_text, still_any_text as _still_any_text"
).body[0]
_FEWEST_WORDS = 3
# Texts that programs read: SQL, regular expressions, and znodes.
_IS_CODE = re.compile(r"\s*[A-Z]{2,}\b(?! ensemble)|.*(\\|\n|\(\?|: $)", re.DOTALL)
_MESSAGE_OF = re.compile(
    r"_?[A-Z]\w*(Error|Refused|Refusal|Repaired|Verdict|Conflict|Denied|Lost|Held|Ensemble|Long)$"
)


class AnyText(str):
    """A message whose words are unknown: it equals and contains every text but the empty one."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and bool(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return str.__hash__(self)

    def __contains__(self, _text: object) -> bool:
        return True

    def startswith(self, *_args: Any) -> bool:
        """Whether the unknown words begin so: they may."""
        return True

    def endswith(self, *_args: Any) -> bool:
        """Whether the unknown words end so: they may."""
        return True

    def __add__(self, _text: str) -> AnyText:
        return self

    def __radd__(self, _text: str) -> AnyText:
        return self

    def __mod__(self, _values: object) -> AnyText:
        return self

    def format(self, *_args: object, **_values: object) -> AnyText:
        """Fill in values, of which nothing is seen."""
        return self

    def rstrip(self, _chars: str | None = None) -> AnyText:
        """Take characters from the end of unknown words."""
        return self


def any_text(text: str) -> str:
    """Return a message without its words; an empty text, which means that there is none, stays."""
    return AnyText(BLANK) if text else text


def still_any_text(value: object) -> object:
    """Return a text that was made of a blanked message as a blanked message, and all else as it is."""
    is_message = isinstance(value, str) and not isinstance(value, Enum) and BLANK in str(value)
    return AnyText(BLANK) if is_message else value


def blanked(source: str, *, only_errors: bool = False) -> str:
    """Return the source with blanked messages.

    only_errors: leave texts that are no argument of an error, such as the formats of znodes.
    """
    tree = ast.parse(source)
    _Blanking(only_errors).visit(tree)
    after = next(
        (
            i
            for i, each in enumerate(tree.body, 1)
            if isinstance(each, ast.ImportFrom) and each.module == "__future__"
        ),
        0,
    )
    tree.body.insert(after, _IMPORT)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


class _Blanking(ast.NodeTransformer):
    """Wraps each message in a call of `any_text`."""

    def __init__(self, only_errors: bool) -> None:
        self._only_errors = only_errors
        self._in_error = False
        self._returns_text = False

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Leave docstrings."""
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Note where the arguments of an error are."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        before, self._in_error = self._in_error, self._in_error or bool(_MESSAGE_OF.match(name))
        self.generic_visit(node)
        if _MESSAGE_OF.match(name):
            node.args = [
                each if isinstance(each, ast.Starred) else _call("_still_any_text", each)
                for each in node.args
            ]
            for keyword in node.keywords:
                keyword.value = _call("_still_any_text", keyword.value) if keyword.arg else keyword.value
        self._in_error = before
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Note which functions return texts."""
        before, self._returns_text = (
            self._returns_text,
            "str" in ast.unparse(node.returns or ast.Constant(None)),
        )
        node.body = [self.visit(each) for each in node.body]
        self._returns_text = before
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """Keep a text that was made of messages a message."""
        self.generic_visit(node)
        if self._returns_text and node.value is not None:
            node.value = _call("_still_any_text", node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Leave annotations."""
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        """Leave parameters, with their annotations."""
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Blank a message with values in it."""
        words = "".join(str(each.value) if isinstance(each, ast.Constant) else "x" for each in node.values)
        return self._blanked(node, words)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Blank a message."""
        return self._blanked(node, node.value) if isinstance(node.value, str) else node

    def _blanked(self, node: ast.expr, words: str) -> ast.expr:
        is_message = len(words.split()) >= _FEWEST_WORDS and not _IS_CODE.match(words)
        if not is_message or (self._only_errors and not self._in_error):
            return node
        return _call("_any_text", node)


def _call(name: str, argument: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), [argument], [])
