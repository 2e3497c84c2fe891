#!/bin/sh
# usage: make_rpms.sh FOLDER PACKAGE.deb...
# Makes an RPM package of each Debian package, and of these a repository for dnf in FOLDER.
set -eu
folder=$1
shift
mkdir -p "$folder"
for deb in "$@"; do
    work=$(mktemp -d)
    dpkg-deb --extract "$deb" "$work/files"
    name=$(dpkg-deb --field "$deb" Package)
    version=$(dpkg-deb --field "$deb" Version)
    cat >"$work/package.spec" <<SPEC
Name: $name
Version: ${version%%-*}
Release: ${version#*-}
Summary: $name
License: Apache-2.0
AutoReqProv: no
# No RPM package of this host has the shell that runs what is below.
Provides: /bin/sh
%define _binary_payload w1.gzdio
%define __os_install_post %{nil}
%define debug_package %{nil}

%description
The files of the Debian package.

%install
cp -a $work/files/. %{buildroot}

%pre
getent passwd clickhouse >/dev/null ||
    useradd --system --user-group --home-dir /var/lib/clickhouse --shell /bin/false clickhouse

%post
install -d -o clickhouse -g clickhouse /var/lib/clickhouse /var/log/clickhouse-server
systemctl daemon-reload

%files
$(cd "$work/files" && find . -path './etc/clickhouse-server/*' -type f -printf '%%config(noreplace) "/%P"\n' -o ! -type d -printf '"/%P"\n')
SPEC
    rpmbuild -bb --quiet --define "_topdir $work" --define "_rpmdir $folder" "$work/package.spec"
    rm -rf "$work"
done
createrepo_c --quiet "$folder"
