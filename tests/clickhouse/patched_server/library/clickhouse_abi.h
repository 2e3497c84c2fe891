// Copyright: olap.partmove contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// The parts of ClickHouse 18.16.1 and Poco that the library calls or replaces: names as the linker
// knows them, and the C++ types behind them. Nothing here comes from a ClickHouse header: classes
// stay opaque, and every name is looked up at start (start.cpp), so a server that does not have all
// of them never runs with half a patch.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace zkutil
{
class ZooKeeper;
}

namespace cold
{

using Names = std::vector<std::string>;
using Session = std::shared_ptr<zkutil::ZooKeeper>;

// Opaque classes of ClickHouse and Poco.
class Storage;        // DB::StorageReplicatedMergeTree
class Context;        // DB::Context
class Configuration;  // Poco::Util::AbstractConfiguration
class Database;       // DB::DatabaseOrdinary
class Pool;           // ThreadPool
class LogEntry;       // DB::ReplicatedMergeTreeLogEntry
class Requests;       // std::vector<std::shared_ptr<Coordination::Request>>
class Stat;           // Coordination::Stat
using Event = std::shared_ptr<void>;  // std::shared_ptr<Poco::Event>; an empty one sets no watch

// A member function is called as a plain one whose first argument is the object; a result that is
// returned through hidden memory comes before it, as the System V ABI for x86-64 has it.

// StorageReplicatedMergeTree(zookeeper_path, replica_name, attach, path, database, name, columns,
// context, ...): all that comes after the context is only handed on.
using StorageConstructor = void (*)(
    Storage *, const std::string &, const std::string &, bool, const std::string &, const std::string &,
    const std::string &, const void *, Context &, const void *, const void *, const void *, const void *,
    const void *, const void *, const void *, bool);
using CheckParts = void (*)(Storage *, bool);
using StartUpTables = void (*)(Database *, Pool *);
using GetZooKeeper = Session (*)(Storage *);
using RemovePartFromZooKeeper = void (*)(Storage *, const std::string &, Requests &);
using ExecuteDropRange = void (*)(Storage *, const LogEntry &);
using RemoveParts = void (*)(Storage *, Session &, const Names &, void *);
using RemovePartsWithRetries = bool (*)(Storage *, const Names &, std::size_t);

// MergeTreePartInfo::fromPartName(name, format_version) fills `result`, whose first member is the
// partition id, and returns its address.
using PartInfoFromName = std::string * (*)(std::string * result, const std::string &, std::uintptr_t);

using GetChildren = Names (*)(zkutil::ZooKeeper *, const std::string &, Stat *, const Event &);
using Get = std::string (*)(zkutil::ZooKeeper *, const std::string &, Stat *, const Event &);
using TryGet
    = bool (*)(zkutil::ZooKeeper *, const std::string &, std::string &, Stat *, const Event &, int *);
using TryGetChildren = int (*)(zkutil::ZooKeeper *, const std::string &, Names &, Stat *, const Event &);
using ZooKeeperConstructor = void (*)(zkutil::ZooKeeper *, const Configuration &, const std::string &);

using WaitForPool = void (*)(Pool *);

using GetConfig = const Configuration & (*)(const Context &);
using HasKey = bool (*)(const Configuration &, const std::string &);

namespace symbol
{

#define COLD_STRING "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
#define COLD_STORAGE "_ZN2DB26StorageReplicatedMergeTree"

// Replaced: see hooks.cpp.
constexpr const char * storage_constructor = COLD_STORAGE
    "C2ERK" COLD_STRING "S8_bS8_S8_S8_RKNS_18ColumnsDescriptionERNS_7ContextES8_RKSt10shared_ptrINS_4IASTEE"
    "SI_SI_SI_RKNS_13MergeTreeData13MergingParamsERKNS_17MergeTreeSettingsEb";
constexpr const char * check_parts = COLD_STORAGE "10checkPartsEb";
constexpr const char * get_zookeeper = COLD_STORAGE "12getZooKeeperEv";
constexpr const char * remove_part = COLD_STORAGE
    "23removePartFromZooKeeperERK" COLD_STRING "RSt6vectorISt10shared_ptrIN12Coordination7RequestEESaISD_EE";
constexpr const char * remove_parts = COLD_STORAGE
    "24removePartsFromZooKeeperERSt10shared_ptrIN6zkutil9ZooKeeperEERKSt6vectorI" COLD_STRING
    "SaISC_EEPSt13unordered_setISC_St4hashISC_ESt8equal_toISC_ESD_E";
constexpr const char * execute_drop_range
    = COLD_STORAGE "16executeDropRangeERKNS_27ReplicatedMergeTreeLogEntryE";
constexpr const char * remove_parts_with_retries = COLD_STORAGE
    "38tryRemovePartsFromZooKeeperWithRetriesERKSt6vectorI" COLD_STRING "SaIS7_EEm";
constexpr const char * part_info_from_name
    = "_ZN2DB17MergeTreePartInfo12fromPartNameERK" COLD_STRING
      "13StrongTypedefIjNS_29MergeTreeDataFormatVersionTagEE";
constexpr const char * start_up_tables = "_ZN2DB16DatabaseOrdinary13startupTablesEP10ThreadPool";
constexpr const char * get_children = "_ZN6zkutil9ZooKeeper11getChildrenERK" COLD_STRING
                                      "PN12Coordination4StatERKSt10shared_ptrIN4Poco5EventEE";
constexpr const char * get = "_ZN6zkutil9ZooKeeper3getERK" COLD_STRING
                             "PN12Coordination4StatERKSt10shared_ptrIN4Poco5EventEE";

// Called.
constexpr const char * try_get = "_ZN6zkutil9ZooKeeper6tryGetERK" COLD_STRING
                                 "RS6_PN12Coordination4StatERKSt10shared_ptrIN4Poco5EventEEPi";
constexpr const char * try_get_children
    = "_ZN6zkutil9ZooKeeper14tryGetChildrenERK" COLD_STRING
      "RSt6vectorIS6_SaIS6_EEPN12Coordination4StatERKSt10shared_ptrIN4Poco5EventEE";
constexpr const char * wait_for_pool = "_ZN10ThreadPool4waitEv";
constexpr const char * zookeeper_constructor
    = "_ZN6zkutil9ZooKeeperC1ERKN4Poco4Util21AbstractConfigurationERK" COLD_STRING;
constexpr const char * get_config = "_ZNK2DB7Context12getConfigRefEv";
constexpr const char * has_key = "_ZNK4Poco4Util21AbstractConfiguration3hasERK" COLD_STRING;
constexpr const char * get_logger = "_ZN4Poco6Logger3getERK" COLD_STRING;
constexpr const char * log_message = "_ZN4Poco6Logger3logERKNS_7MessageE";
constexpr const char * message_constructor
    = "_ZN4Poco7MessageC1ERK" COLD_STRING "S8_NS0_8PriorityE";
constexpr const char * message_destructor = "_ZN4Poco7MessageD1Ev";

// Data: pairs of name and value with a null pointer at the end, the rows of system.build_options.
constexpr const char * build_options = "auto_config_build";

#undef COLD_STRING
#undef COLD_STORAGE

}

}
