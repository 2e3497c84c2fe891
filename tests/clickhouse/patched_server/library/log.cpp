// Copyright: olap.partmove contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

#include "log.h"

#include "clickhouse_abi.h"
#include "linkage.h"

#include <cstddef>
#include <cstdio>
#include <unistd.h>

namespace cold
{

namespace
{

class Logger;   // Poco::Logger
class Message;  // Poco::Message

using GetLogger = Logger & (*)(const std::string &);
using LogMessage = void (*)(Logger &, const Message &);
using MessageConstructor = void (*)(Message *, const std::string &, const std::string &, int);
using MessageDestructor = void (*)(Message *);

// Of Poco::Message::Priority.
constexpr int priority_error = 3;
constexpr int priority_information = 6;

// A Message takes about 200 bytes; its size is not known here.
constexpr std::size_t message_bytes = 1024;

constexpr const char * source = "Cold ZooKeeper";

GetLogger get_logger;
LogMessage log_message;
MessageConstructor construct_message;
MessageDestructor destroy_message;

void log(int priority, const std::string & text)
{
    alignas(std::max_align_t) char memory[message_bytes] = {};
    auto * message = reinterpret_cast<Message *>(memory);
    construct_message(message, source, text, priority);
    log_message(get_logger(source), *message);
    destroy_message(message);
}

}

void fatal(const std::string & text)
{
    fprintf(stderr, "Cold ZooKeeper: fatal: %s\n", text.c_str());
    fflush(stderr);
    _exit(1);
}

void find_log()
{
    get_logger = find_function<GetLogger>(symbol::get_logger);
    log_message = find_function<LogMessage>(symbol::log_message);
    construct_message = find_function<MessageConstructor>(symbol::message_constructor);
    destroy_message = find_function<MessageDestructor>(symbol::message_destructor);
}

void log_information(const std::string & text)
{
    log(priority_information, text);
}

void log_error(const std::string & text)
{
    log(priority_error, text);
}

}
