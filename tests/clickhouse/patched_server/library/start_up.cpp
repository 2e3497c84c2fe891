// Copyright: olap.partmove contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// The start of a table: the parts that cold has registered count as registered.
//
// ClickHouse compares the parts on disk with the children of <replica>/parts inside
// StorageReplicatedMergeTree::checkParts, which the constructor of a table calls. Here that one list
// is given the children of the same znode in cold as well: hot is read first, then cold.

#include "hooks.h"
#include "linkage.h"
#include "log.h"
#include "session.h"
#include "tables.h"

#include <exception>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <unordered_set>

namespace cold
{

namespace
{

// What Coordination::ZooKeeper answers for a znode that does not exist.
constexpr int no_node = -101;

StorageConstructor construct_storage;
CheckParts check_parts;
RemovePartFromZooKeeper remove_part;
RemoveParts remove_parts;
StartUpTables start_up_tables;
WaitForPool wait_for_pool;
GetChildren get_children;
TryGetChildren try_get_children;
Get get;

// One run of checkParts.
struct Check
{
    std::unordered_set<std::string> hot;
    std::unordered_set<std::string> cold;
    std::string registered_twice;  // a part that is lost on disk and registered in both ensembles
};

// The table that this thread constructs, and the check of its parts; null at all other times.
thread_local Table * loading = nullptr;
thread_local Check * checking = nullptr;

// The last table that could not be loaded or created. Only looked at while the server starts.
std::mutex failure_mutex;
std::exception_ptr failure;

bool ends_with(std::string_view text, std::string_view end)
{
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

void hook_constructor(
    Storage * storage, const std::string & zookeeper_path, const std::string & replica, bool attach,
    const std::string & path, const std::string & database, const std::string & name, const void * columns,
    Context & context, const void * a, const void * b, const void * c, const void * d, const void * e,
    const void * f, const void * g, bool has_force_restore_data_flag)
{
    try
    {
        Table table{cold_session(context), ""};
        {
            Scope scope(loading, table.session ? &table : nullptr);
            construct_storage(
                storage, zookeeper_path, replica, attach, path, database, name, columns, context, a, b, c, d,
                e, f, g, has_force_restore_data_flag);
        }
        remember_table(storage, std::move(table));
    }
    catch (...)
    {
        std::lock_guard lock(failure_mutex);
        failure = std::current_exception();
        throw;
    }
}

// The constructor reads <zookeeper_path>/metadata: the first place where the path is known with its
// macros filled in.
std::string hook_get(zkutil::ZooKeeper * hot, const std::string & path, Stat * stat, const Event & watch)
{
    constexpr std::string_view metadata = "/metadata";
    if (loading && loading->zookeeper_path.empty() && ends_with(path, metadata))
        loading->zookeeper_path = path.substr(0, path.size() - metadata.size());
    return get(hot, path, stat, watch);
}

void hook_check_parts(Storage * storage, bool skip_sanity_checks)
{
    Check check;
    {
        Scope scope(checking, loading ? &check : nullptr);
        check_parts(storage, skip_sanity_checks);
    }
    // The fork queues such a part once for each ensemble, and the second time fails: its znode is gone.
    if (!check.registered_twice.empty())
        throw std::runtime_error(
            "Cold ZooKeeper: part " + check.registered_twice
            + " is not on disk and was registered in both ensembles; its fetch is queued, "
              "load the table again");
}

Names hook_get_children(zkutil::ZooKeeper * hot, const std::string & path, Stat * stat, const Event & watch)
{
    Names names = get_children(hot, path, stat, watch);
    if (!checking || !ends_with(path, "/parts"))
        return names;

    Names cold_names;
    const bool there = try_get_children(loading->session.get(), path, cold_names, nullptr, {}) != no_node;
    log_information(
        "start of " + path.substr(0, path.rfind('/')) + ": " + std::to_string(names.size())
        + " parts are registered in hot and " + std::to_string(cold_names.size()) + " in cold"
        + (there ? "" : ", which does not know the replica"));
    checking->hot.insert(names.begin(), names.end());
    checking->cold.insert(cold_names.begin(), cold_names.end());
    names.insert(names.end(), cold_names.begin(), cold_names.end());
    return names;
}

// checkParts takes a part that is lost on disk out of hot and queues its fetch, in one transaction.
// Of a part that only cold knows there is nothing to take out; its znode stays in cold.
void hook_remove_part(Storage * storage, const std::string & name, Requests & requests)
{
    if (checking && checking->cold.count(name))
    {
        log_error("part " + name + " is registered in cold and not on disk: its fetch is queued");
        if (!checking->hot.count(name))
            return;
        checking->registered_twice = name;
    }
    remove_part(storage, name, requests);
}

// Removes many at once and does not mind those that are not there: the hook above keeps out of it.
void hook_remove_parts(Storage * storage, Session & hot, const Names & names, void * to_retry)
{
    Scope scope(checking, static_cast<Check *>(nullptr));
    remove_parts(storage, hot, names, to_retry);
}

// The server loads its tables in a pool of threads and then starts them. 18.16.1 does not wait for the
// pool in between, only for the last load to be on its way out. It may so lose the failure of that load
// and start without the table, or crash. The version of the fork waits: there, as here, a table that
// cannot be loaded keeps the server from starting.
void hook_start_up_tables(Database * database, Pool * pool)
{
    if (pool)
    {
        wait_for_pool(pool);
        std::lock_guard lock(failure_mutex);
        if (failure)
            std::rethrow_exception(failure);
    }
    start_up_tables(database, pool);
}

}

void install_start_up()
{
    wait_for_pool = find_function<WaitForPool>(symbol::wait_for_pool);
    start_up_tables = replace_function(symbol::start_up_tables, &hook_start_up_tables);
    try_get_children = find_function<TryGetChildren>(symbol::try_get_children);
    construct_storage = replace_function(symbol::storage_constructor, &hook_constructor);
    get = replace_function(symbol::get, &hook_get);
    check_parts = replace_function(symbol::check_parts, &hook_check_parts);
    get_children = replace_function(symbol::get_children, &hook_get_children);
    remove_part = replace_function(symbol::remove_part, &hook_remove_part);
    remove_parts = replace_function(symbol::remove_parts, &hook_remove_parts);
}

}
