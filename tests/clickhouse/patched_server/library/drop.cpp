// Copyright: olap.partmove contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// DROP PARTITION and DETACH PARTITION: the partition's State decides which ensemble is emptied.
//
// A replica executes both as a range of parts (StorageReplicatedMergeTree::executeDropRange): it takes
// the parts out of its working set and then removes their znodes, with five attempts whose result
// nobody looks at. While it removes those of a COLD partition, its getZooKeeper() is the cold session.

#include "hooks.h"
#include "linkage.h"
#include "log.h"
#include "tables.h"

#include <stdexcept>

namespace cold
{

namespace
{

ExecuteDropRange execute_drop_range;
PartInfoFromName part_info_from_name;
RemovePartsWithRetries remove_with_retries;
GetZooKeeper get_zookeeper;
TryGet try_get;

// One run of executeDropRange.
struct Drop
{
    Storage * storage;
    Table table;
    std::string partition;  // empty until executeDropRange has asked for it
    bool is_cold = false;
};

// The drop that this thread executes, and the session that it uses instead of hot; null at all other
// times.
thread_local Drop * dropping = nullptr;
thread_local Session * instead = nullptr;

// Only these bytes mean cold: no State, another text or a line end after it mean hot.
bool partition_is_cold(Drop & drop)
{
    if (drop.table.zookeeper_path.empty())
        throw std::logic_error(
            "Cold ZooKeeper: the path of the table that drops " + drop.partition + " is not known");
    const std::string path = drop.table.zookeeper_path + "/block_numbers/" + drop.partition + "/State";
    std::string state;
    const bool exists = try_get(get_zookeeper(drop.storage).get(), path, state, nullptr, {}, nullptr);
    return exists && state == "COLD";
}

void hook_execute_drop_range(Storage * storage, const LogEntry & entry)
{
    Drop drop{storage, known_table(storage), "", false};
    Scope scope(dropping, drop.table.session ? &drop : nullptr);
    execute_drop_range(storage, entry);
}

// The first thing that executeDropRange does is to take the range's name apart: the partition is known
// and nothing has been done yet, so a State that cannot be read makes the server try the entry again.
std::string * hook_part_info_from_name(std::string * info, const std::string & name, std::uintptr_t format)
{
    std::string * result = part_info_from_name(info, name, format);
    if (dropping && dropping->partition.empty())
    {
        if (result->empty() || name.compare(0, result->size(), *result) != 0)
            throw std::logic_error("Cold ZooKeeper: no partition was found in " + name);
        dropping->partition = *result;
        dropping->is_cold = partition_is_cold(*dropping);
    }
    return result;
}

bool hook_remove_with_retries(Storage * storage, const Names & names, std::size_t attempts)
{
    if (!dropping)
        return remove_with_retries(storage, names, attempts);

    const std::string what = std::to_string(names.size()) + " parts of partition " + dropping->partition
        + " of " + dropping->table.zookeeper_path;
    Scope scope(instead, dropping->is_cold ? &dropping->table.session : nullptr);
    const bool removed = remove_with_retries(storage, names, attempts);
    const std::string where = dropping->is_cold ? "cold" : "hot";
    if (removed)
        log_information("removed " + what + " from " + where);
    else
        log_error("could not remove " + what + " from " + where + ": their znodes stay");
    return removed;
}

Session hook_get_zookeeper(Storage * storage)
{
    return instead ? *instead : get_zookeeper(storage);
}

}

void install_drop()
{
    try_get = find_function<TryGet>(symbol::try_get);
    execute_drop_range = replace_function(symbol::execute_drop_range, &hook_execute_drop_range);
    part_info_from_name = replace_function(symbol::part_info_from_name, &hook_part_info_from_name);
    remove_with_retries = replace_function(symbol::remove_parts_with_retries, &hook_remove_with_retries);
    get_zookeeper = replace_function(symbol::get_zookeeper, &hook_get_zookeeper);
}

}
