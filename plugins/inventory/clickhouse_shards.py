# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: clickhouse_shards
short_description: Create hosts and groups by cluster and shard, from the clusters of a ClickHouse server
version_added: 1.0.0
description:
  - Reads the clusters in C(<remote_servers>) from configuration files of a ClickHouse server, or from
    C(system.clusters) of a running server.
  - Each cluster becomes a group with its name. Each shard becomes a child group, such as C(main_shard_1).
    Characters that are invalid in group names become underscores.
  - Each host has the variables C(clickhouse_cluster), C(clickhouse_shard) and C(clickhouse_replica), with
    numbers from 1 on, C(clickhouse_port) of the native protocol and C(clickhouse_weight); if known
    C(clickhouse_secure), C(clickhouse_internal_replication) and C(clickhouse_is_local); and
    C(clickhouse_memberships), a list of C(cluster), C(shard) and C(replica). A host with several memberships
    has the variables of the first membership, with the clusters in the order of O(clusters).
  - Several servers on one host are distinguished by their ports, such as C(ch1-9000) and C(ch1-9001), and
    have C(ansible_host).
  - Users and passwords in C(<remote_servers>) are not read.
  - The file name of the inventory source has to end in C(clickhouse_shards.yml) or C(clickhouse_shards.yaml).
author:
  - olap.partmove contributors (@olap-partmove)
requirements:
  - lxml >= 4.9 on the controller, for O(config)
extends_documentation_fragment:
  - ansible.builtin.constructed
  - ansible.builtin.inventory_cache
options:
  plugin:
    description: Name of this plugin.
    type: str
    required: true
    choices: [olap.partmove.clickhouse_shards]
  config:
    description:
      - Path on the controller of a C(config.xml), of a preprocessed configuration, or of a file of
        substitutions such as C(metrika.xml). The plugin merges C(config.d) and C(conf.d) beside the file, and
        follows C(incl).
      - A relative path starts from the folder of the inventory source.
      - Exactly one of O(config) and O(host) is needed.
    type: str
  include_from:
    description: Path on the controller of the file of substitutions, relative as in O(config), if the
      configuration names a different path.
    type: str
  element:
    description: Name of the element with the clusters, if other than V(remote_servers) and
      V(clickhouse_remote_servers).
    type: str
  host:
    description: Name or address of a server to query over its HTTP interface.
    type: str
  port:
    description: Port of the HTTP interface; with TLS usually 8443.
    type: int
    default: 8123
  user:
    description: A user that may read the database C(system).
    type: str
    default: default
    env:
      - name: CLICKHOUSE_USER
  password:
    description: Password of O(user).
    type: str
    default: ''
    env:
      - name: CLICKHOUSE_PASSWORD
  secure:
    description: Whether to use TLS.
    type: bool
    default: false
  ca:
    description: PEM file of certificate authorities, added to those of the system.
    type: path
  verify:
    description: Whether to refuse a server whose certificate no known authority has signed for its host.
    type: bool
    default: true
  timeout:
    description: Seconds to wait for a connection, and for each answer.
    type: float
    default: 30.0
  clusters:
    description: Names of the clusters to read; by default all clusters. Other clusters may contain anything.
    type: list
    elements: str
  group_prefix:
    description: Prefix of each group name.
    type: str
    default: ''
"""

EXAMPLES = r"""
# clickhouse_shards.yml: from copied configuration files of a server
plugin: olap.partmove.clickhouse_shards
config: files/clickhouse-server/config.xml
include_from: files/metrika.xml
clusters: [main]

---
# server.clickhouse_shards.yml: from a server, queried once an hour. The environment variable
# CLICKHOUSE_PASSWORD has the password.
plugin: olap.partmove.clickhouse_shards
host: ch1.example
secure: true
port: 8443
user: inventory
cache: true
cache_plugin: ansible.builtin.jsonfile
cache_connection: ~/.cache/ansible-inventory
cache_timeout: 3600
compose:
  ansible_user: "'admin'"
groups:
  canary: clickhouse_shard == 1
keyed_groups:
  - key: clickhouse_replica | string
    prefix: replica
"""

import hashlib
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleParserError
from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable
from ansible.utils.path import unfrackpath

from ansible_collections.olap.partmove.plugins.module_utils._tasks.clickhouse_shards import (
    ClusterHost,
    PartMoveError,
    hosts_of,
    read_clusters,
)

_SERVER = ("host", "port", "user", "password", "secure", "ca", "verify", "timeout")
_SOURCE = ("config", "include_from", "element", "host", "port", "user", "secure", "clusters")
_CACHE_FORMAT = 2
"""Increase this number whenever the format of cached data changes."""


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):  # type: ignore[misc]
    """Creates the inventory. Ansible calls ``verify_file`` and then ``parse``."""

    NAME = "olap.partmove.clickhouse_shards"

    def verify_file(self, path: str) -> bool:
        """Return whether the name of the file is valid for this plugin."""
        named = path.endswith(("clickhouse_shards.yml", "clickhouse_shards.yaml"))
        return named and bool(super().verify_file(path))

    def parse(self, inventory: InventoryData, loader: DataLoader, path: str, cache: bool = True) -> None:
        """Add hosts, groups and variables. Raises AnsibleParserError for every error."""
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        if bool(self._option("config")) == bool(self._option("host")):
            raise AnsibleParserError(f"{path} needs exactly one of config and host")
        self._folder = str(Path(path).parent)
        try:
            rows = self._rows(path, cache=cache)
            hosts = hosts_of(rows, self._option("clusters"), self._option("group_prefix"))
        except PartMoveError as error:
            raise AnsibleParserError(str(error)) from error
        for host in hosts:
            self._add(host)
        for host in hosts:
            self._construct(host.name)

    def _rows(self, path: str, *, cache: bool) -> list[dict[str, Any]]:
        """Return the replicas from the cache or the source. ``cache`` is False to renew the cache."""
        if not self.get_option("cache"):
            return self._read()
        key = self._cache_key(path)
        if cache and key in self._cache:
            return list(self._cache[key])
        rows = self._read()
        self._cache[key] = rows
        return rows

    def _read(self) -> list[dict[str, Any]]:
        server = {name: self._option(name) for name in _SERVER}
        return read_clusters(
            self._file("config"),
            self._file("include_from"),
            self._option("element"),
            server,
            self._option("clusters"),
        )

    def _cache_key(self, path: str) -> str:
        """Return a key for the inventory file and what is read, so that sources do not share entries."""
        source = repr([_CACHE_FORMAT, *(self._option(name) for name in _SOURCE)])
        return f"{self.get_cache_key(path)}_{hashlib.sha256(source.encode()).hexdigest()[:12]}"

    def _file(self, name: str) -> str | None:
        """Return the option as an absolute path."""
        value = self._option(name)
        return str(unfrackpath(value, follow=False, basedir=self._folder)) if value else None

    def _option(self, name: str) -> Any:
        """Return the option with templates resolved."""
        value = self.get_option(name)
        return self.templar.template(value) if isinstance(value, (str, list)) else value

    def _add(self, host: ClusterHost) -> None:
        self.inventory.add_host(host.name)
        for name, value in host.variables.items():
            self.inventory.set_variable(host.name, name, value)
        for cluster, shard in host.groups:
            self.inventory.add_group(cluster)
            self.inventory.add_group(shard)
            self.inventory.add_child(cluster, shard)
            self.inventory.add_child(shard, host.name)

    def _construct(self, name: str) -> None:
        strict = self.get_option("strict")
        variables = self.inventory.get_host(name).get_vars()
        self._set_composite_vars(self.get_option("compose"), variables, name, strict=strict)
        variables = self.inventory.get_host(name).get_vars()
        self._add_host_to_composed_groups(self.get_option("groups"), variables, name, strict=strict)
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"), variables, name, strict=strict)
