#!/usr/bin/env bash
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Installs the Debian packages that are missing here. The argument says for what:
#   twin     the demo of twins: Java
#   patched  the demo and the sandbox of patched servers: Java and ClickHouse
#   tests    all tests and checks
# Starts no service. Fails only when there is no Java 17 or later afterwards.

set -euo pipefail

need=${1:-}
case $need in
twin | patched | tests) ;;
*)
    echo "usage: $0 twin|patched|tests" >&2
    exit 2
    ;;
esac

have_java() {
    local version
    version=$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p') || return 1
    [ "${version:-0}" -ge 17 ]
}

have() {
    PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null
}

missing_packages() {
    have_java || echo openjdk-17-jre-headless
    case $need in
    patched) missing_for_patched ;;
    tests) missing_for_tests ;;
    esac
}

# Debian's server gets the patch from a library that g++ compiles. Compilers are not installed for a demo, which without
# one shows znodes that were recorded, and then has no use for a server.
missing_for_patched() {
    if have g++; then
        have clickhouse-server || echo clickhouse-server
    fi
}

missing_for_tests() {
    have g++ || echo g++
    have clickhouse-server || echo clickhouse-server
    have clickhouse-client || echo clickhouse-client
    have shellcheck || echo shellcheck
    have chromium || echo chromium
    # Its promtool checks alerts and metrics.
    have promtool || echo prometheus
    [ -e /usr/share/java/zookeeper.jar ] || echo libzookeeper-java
    # For the hosts that the scenarios of extensions/molecule boot, see docs/internals/staging.md.
    have debootstrap || echo debootstrap
    have systemd-nspawn || echo systemd-container
    have ip || echo iproute2
    have ssh || echo openssh-client
    have dpkg-scanpackages || echo dpkg-dev
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

may_install() {
    have apt-get && { [ "$(id -u)" -eq 0 ] || { have sudo && sudo -n true 2>/dev/null; }; }
}

# The packages start their services when they are installed, unless this file says no.
forbid_services() {
    local policy=/usr/sbin/policy-rc.d
    [ -e "$policy" ] && return
    trap 'as_root rm -f /usr/sbin/policy-rc.d' EXIT
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
}

install_packages() {
    forbid_services
    as_root apt-get update || echo "setup: apt-get update failed, trying the lists that are there" >&2
    for package in "$@"; do
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$package" ||
            echo "setup: apt-get could not install $package" >&2
    done
}

mapfile -t missing < <(missing_packages)
if [ "${#missing[@]}" -gt 0 ] && may_install; then
    install_packages "${missing[@]}"
    mapfile -t missing < <(missing_packages)
fi
if [ "${#missing[@]}" -gt 0 ]; then
    {
        echo "setup: missing on this machine: ${missing[*]}"
        echo "setup: on Debian 12, as root:  apt-get install --no-install-recommends ${missing[*]}"
    } >&2
fi
if ! have_java; then
    echo "setup: no Java 17 or later: ZooKeeper and Spark cannot run" >&2
    exit 1
fi
