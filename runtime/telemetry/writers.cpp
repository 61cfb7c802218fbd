//===- writers.cpp - History, event files, traces -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/telemetry/writers.h"
#include "runtime/core/event.pb.h"
#include "runtime/formats/crc32c.h"
#include "runtime/formats/file.h"
#include "runtime/formats/json.h"
#include "runtime/formats/links.h"
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dist {

LineFile::~LineFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

static Status cannotWrite(const std::string &path) {
  return Status::error(StatusCode::Unavailable, "cannot write file", path,
                       std::strerror(errno),
                       "check the folder, its permissions and free space");
}

Status LineFile::open(const std::string &target, bool truncate) {
  path = target;
  const int open = ownDescriptor(path);
  descriptor = open >= 0 ? fcntl(open, F_DUPFD_CLOEXEC, 0)
                         : ::open(path.c_str(),
                                  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC |
                                      (truncate ? O_TRUNC : 0),
                                  0666);
  return descriptor < 0 ? cannotWrite(path) : Status();
}

Status LineFile::append(const std::string &bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t put = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0) {
      Status status = cannotWrite(path);
      if (done > 0)
        (void)cut(done); // what comes next begins a line of its own
      return status;
    }
    done += put;
  }
  return Status();
}

Status LineFile::cut(size_t bytes) {
  struct stat info;
  const bool isCut = fstat(descriptor, &info) == 0 &&
                     ftruncate(descriptor, info.st_size - off_t(bytes)) == 0;
  return isCut ? Status() : cannotWrite(path);
}

/// A run that ended within an epoch has told of it: one that goes on there
/// tells of the whole.
Status HistoryFile::add(const StepRow &row) {
  if (lastBytes > 0 && row.epoch == lastEpoch)
    DIST_RETURN_IF_ERROR(file.cut(lastBytes));
  lastBytes = 0;
  return add(toJson(row));
}

Status HistoryFile::open(const std::string &path, int64_t resumedStep,
                         ToldRows *before) {
  lastBytes = 0;
  struct stat info;
  bool there = stat(path.c_str(), &info) == 0;
  if (resumedStep > 0 && there && S_ISREG(info.st_mode) && info.st_size > 0) {
    // Lines after the saved state will be written again.
    std::shared_ptr<const FileBytes> bytes;
    DIST_RETURN_IF_ERROR(FileBytes::open(path, &bytes));
    std::string_view text = bytes->bytes();
    std::string kept;
    int64_t lastStep = 0;
    while (!text.empty()) {
      size_t end = text.find('\n');
      if (end == std::string_view::npos)
        break;
      std::string_view line = text.substr(0, end);
      text.remove_prefix(end + 1);
      nlohmann::json row = parseJson(line);
      if (!row.is_object())
        continue;
      if (row.contains("step") && row["step"].is_number_integer())
        lastStep = row["step"].get<int64_t>();
      if (lastStep > resumedStep)
        break;
      kept += std::string(line) + "\n";
      if (before)
        before->add(line);
      const bool endsEpoch = row.contains("epoch") && !row.contains("step") &&
                             row["epoch"].is_number_integer();
      lastEpoch = endsEpoch ? row["epoch"].get<int64_t>() : 0;
      lastBytes = endsEpoch ? line.size() + 1 : 0;
    }
    DIST_RETURN_IF_ERROR(writeFile(path, kept));
    return file.open(path, false);
  }
  return file.open(path, true);
}

//===----------------------------------------------------------------------===//
// TensorBoard
//===----------------------------------------------------------------------===//

static double wallTime() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Status EventFile::open(const std::string &folder,
                       std::optional<int64_t> resumedStep) {
  DIST_RETURN_IF_ERROR(makeFolders(folder));
  char host[256] = "host";
  gethostname(host, sizeof host - 1);
  const std::string name =
      fmt::format("{}/events.out.tfevents.{:010}.{}.{}", folder,
                  int64_t(wallTime()), host, getpid());
  // This process may have begun one within the same second.
  std::string path = name;
  struct stat info;
  for (int i = 1; stat(path.c_str(), &info) == 0; ++i)
    path = fmt::format("{}.{}", name, i);
  DIST_RETURN_IF_ERROR(file.open(path, true));
  events::Event event;
  event.set_wall_time(wallTime());
  event.set_file_version("brain.Event:2");
  DIST_RETURN_IF_ERROR(record(event.SerializeAsString()));
  if (!resumedStep)
    return Status();
  event.set_step(*resumedStep + 1);
  event.mutable_session_log()->set_status(events::SessionLog::START);
  return record(event.SerializeAsString());
}

Status EventFile::record(const std::string &message) {
  uint64_t size = message.size();
  uint32_t sizeCrc = maskedCrc32c(&size, sizeof size);
  uint32_t crc = maskedCrc32c(message.data(), message.size());
  std::string bytes(reinterpret_cast<char *>(&size), sizeof size);
  bytes.append(reinterpret_cast<char *>(&sizeCrc), sizeof sizeCrc);
  bytes += message;
  bytes.append(reinterpret_cast<char *>(&crc), sizeof crc);
  return file.append(bytes);
}

Status
EventFile::add(int64_t step,
               const std::vector<std::pair<std::string, double>> &values) {
  if (!file.isOpen())
    return Status();
  events::Event event;
  event.set_wall_time(wallTime());
  event.set_step(step);
  for (auto &[name, value] : values) {
    events::Summary::Value *item = event.mutable_summary()->add_value();
    item->set_tag(name);
    item->set_simple_value(float(value));
  }
  return record(event.SerializeAsString());
}

//===----------------------------------------------------------------------===//
// Trace
//===----------------------------------------------------------------------===//

std::string traceJson(const std::vector<TraceEvent> &events) {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  const char *separator = "\n";
  int ranks = 0;
  for (const TraceEvent &event : events) {
    ranks = std::max(ranks, event.rank + 1);
    text += fmt::format("{}{{\"ph\":\"X\",\"pid\":0,\"tid\":{},\"name\":{},"
                        "\"cat\":{},\"ts\":{:.3f},\"dur\":{:.3f}}}",
                        separator, event.rank, jsonString(event.name),
                        jsonString(event.category), event.begin,
                        event.end - event.begin);
    separator = ",\n";
  }
  for (int rank = 0; rank < ranks; ++rank) {
    text += fmt::format("{}{{\"ph\":\"M\",\"pid\":0,\"tid\":{},\"name\":"
                        "\"thread_name\",\"args\":{{\"name\":\"rank {}\"}}}}",
                        separator, rank, rank);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

} // namespace dist
