#!/usr/bin/env bash
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Prints the znodes of this member, the size of a snapshot of them, and the seconds until a member with it serves, as JSON. The
# member itself runs on: its files are copied, and a ZooKeeper of the same settings starts twice with the copy. It replays the
# log at its first start, which also writes the snapshot, and reads the snapshot at its second start.
set -euo pipefail

unit=/etc/systemd/system/zookeeper.service
folder=$(mktemp -d /var/tmp/measure.XXXXXX)
port=12181
pid=
trap '[ -z "$pid" ] || kill -9 "$pid"; rm -rf "$folder"' EXIT

# A member that is about to start may leave a request without an answer.
srvr() { { exec 3<>"/dev/tcp/127.0.0.1/$1" && printf srvr >&3 && timeout 2 cat <&3; } 2>/dev/null; }

serve() {
    begin=$(date +%s%N)
    $java org.apache.zookeeper.server.quorum.QuorumPeerMain "$folder/zoo.cfg" >"$folder/output" 2>&1 &
    pid=$!
    until srvr $port | grep -q '^Mode: '; do
        sleep 0.02
        if ! kill -0 "$pid" || (( $(date +%s%N) > begin + 300000000000 )); then
            cat "$folder/output" >&2
            exit 1
        fi
    done
    end=$(date +%s%N)
}

stop() {
    kill "$pid"
    wait "$pid" || true
    pid=
}

if srvr $port >/dev/null; then
    echo "port $port is in use, such as by an earlier measurement" >&2
    exit 1
fi
java=$(sed -n 's/^ExecStart=\(.*\) org\.apache\.zookeeper\..*/\1/p' "$unit")
# Snapshots first: a snapshot that is written meanwhile needs the log that follows it.
mkdir -p "$folder/version-2"
cp -p /var/lib/zookeeper/version-2/snapshot.* "$folder/version-2/"
cp -p /var/lib/zookeeper/version-2/log.* "$folder/version-2/"
cat >"$folder/zoo.cfg" <<END
dataDir=$folder
clientPort=$port
clientPortAddress=127.0.0.1
tickTime=2000
admin.enableServer=false
4lw.commands.whitelist=srvr
END

serve
stop
serve
znodes=$(srvr $port | sed -n 's/^Node count: //p')
stop
size=$(find "$folder" -name 'snapshot.*' -printf '%T@ %s\n' | sort -n | tail -1 | cut -d ' ' -f 2)
awk -v znodes="$znodes" -v begin="$begin" -v end="$end" -v size="$size" 'BEGIN {
    printf "{\"znodes\": %d, \"snapshot_bytes\": %d, \"start_seconds\": %.2f}\n", znodes, size, (end - begin) / 1e9 }'
