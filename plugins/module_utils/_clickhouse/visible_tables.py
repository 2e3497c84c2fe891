# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides from the rights of the user whether a server may hide tables from the user.

A server leaves out of ``system.tables`` what the user may not see. So an answer without a table means that
there is none only if the user may see every table.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._partmove.errors import NotPermitted
from .._partmove.formats.sql import identifier, quoted
from .client import ClickHouseClient, QueryRefused

_SEE_ALL = frozenset({"ALL", "SHOW"})
_SEE_TABLES = frozenset({"SHOW TABLES", "SELECT"})
_SEE_DICTIONARIES = frozenset({"SHOW DICTIONARIES", "dictGet"})
_EVERYWHERE = "*.*"
_SYNTAX_ERROR = 62


def hidden_from_user(client: ClickHouseClient) -> str:
    """Return a problem if the server may hide tables, dictionaries or mutations from the user."""
    if shows_everything(_grants(client)):
        return ""
    return (
        f"{client.label} may hide reading tables, dictionaries and mutations from the user: it lacks the"
        " right SHOW on *.*"
    )


def refuse_hidden_tables(client: ClickHouseClient, database: str) -> None:
    """Raise NotPermitted if the server may hide tables of the database from the user."""
    if not shows_tables(_grants(client), database):
        right = f"SHOW TABLES ON {identifier(database)}.*"
        raise NotPermitted(
            f"{client.label} may hide reading tables of the database {database} from the user, who lacks the"
            f" right {right}",
            remedy=f"GRANT {right} to the user",
        )


def shows_everything(grants: Sequence[str]) -> bool:
    """Return whether rights, as SHOW GRANTS has them, let a user see every table and every dictionary.

    >>> shows_everything(["GRANT SHOW TABLES, dictGet ON *.* TO ops"])
    True
    >>> shows_everything(["GRANT ALL ON *.* TO ops", "REVOKE SHOW ON secret.* FROM ops"])
    False
    """
    rights = _granted(grants, _EVERYWHERE)
    sees_all = not rights.isdisjoint(_SEE_ALL) or (
        not rights.isdisjoint(_SEE_TABLES) and not rights.isdisjoint(_SEE_DICTIONARIES)
    )
    return sees_all and _revoked(grants).isdisjoint(_SEE_ALL | _SEE_TABLES | _SEE_DICTIONARIES)


def shows_tables(grants: Sequence[str], database: str) -> bool:
    """Return whether rights, as SHOW GRANTS has them, let a user see every table of a database.

    >>> shows_tables(["GRANT SHOW TABLES, ALTER DELETE ON db.* TO ops"], "db")
    True
    >>> shows_tables(["GRANT SHOW TABLES ON db.* TO ops", "GRANT ALL ON other.t TO ops"], "other")
    False
    """
    scopes = (_EVERYWHERE, f"{identifier(database)}.*", f"{quoted(database)}.*")
    see = _SEE_ALL | _SEE_TABLES
    granted = {right for scope in scopes for right in _granted(grants, scope)}
    return not granted.isdisjoint(see) and _revoked(grants).isdisjoint(see)


def _grants(client: ClickHouseClient) -> list[str]:
    """Return the rights of the user, one statement each."""
    try:
        rows = client.rows("SHOW GRANTS FINAL")
    except QueryRefused as error:
        if error.code != _SYNTAX_ERROR:
            raise
        # Before FINAL, rights by roles are not listed.
        rows = client.rows("SHOW GRANTS")
    return [grant for (grant,) in rows]


def _granted(grants: Sequence[str], scope: str) -> set[str]:
    return {right for grant in grants for right in _rights(grant, "GRANT ", f" ON {scope} TO ")}


def _revoked(grants: Sequence[str]) -> set[str]:
    return {right for grant in grants for right in _rights(grant, "REVOKE ", " ON ")}


def _rights(grant: str, verb: str, scope: str) -> list[str]:
    rights, found, _rest = grant.partition(scope)
    return rights[len(verb) :].split(", ") if found and rights.startswith(verb) else []
