//===- process_training.cpp - Times training in several processes ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Trains a package on made-up examples, each rank in a process of its own or
// all of them in one, and prints the median step and a digest of all variables:
// the same for each wire. A process's peak memory stands beside what it held
// before its session and what the session planned, and the most that
// a session has allocated of a device.
//
//   process_training PACKAGE --wire memory|shm|tcp --steps 50
//
//===----------------------------------------------------------------------===//
#include "runtime/core/package.h"
#include "runtime/core/session.h"
#include "runtime/device/cpu/library_memory.h"
#include "runtime/device/cpu/team.h"
#include "tools/bench/ranks_apart.h"
#include <algorithm>
#include <map>

using namespace dist;

namespace {

/// A line of this process's memory in KiB: VmRSS, VmHWM.
double readMiB(const std::string &what) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(what + ":", 0) == 0)
      return std::stod(line.substr(what.size() + 1)) / 1024;
  return 0;
}

/// Bytes that the programs of `ranks` ranks plan: what lasts, and beside it the
/// most that one of their entries takes.
Status countPlanned(const manifest::Manifest &m, int ranks, double *mebibytes) {
  cpu::LibraryMemory library;
  DIST_RETURN_IF_ERROR(cpu::LibraryMemory::create(m, &library));
  int64_t most = 0;
  for (int number = 0; number < m.programs_size(); ++number)
    for (const manifest::Entry &entry : m.programs(number).entries())
      most =
          std::max(most, stateBytes(m, m.programs(number)) + arenaBytes(entry) +
                             library.block(number).bytes());
  *mebibytes = double(most) * ranks / (1 << 20);
  return Status();
}

/// The box of an argument, element by element: small floats, numbers of
/// classes, all examples real.
Tensor makeInput(const manifest::Binding &argument, const Window &window,
                 int64_t batch) {
  const manifest::TensorType &whole = argument.global_type();
  Tensor input;
  input.type = whole.type();
  input.shape = window.shape;
  input.data.resize(byteSize(input.type) * elementCount(window.shape));
  std::vector<int64_t> at(window.shape.size());
  for (int64_t i = 0; i < elementCount(window.shape); ++i) {
    uint64_t index = 0;
    for (size_t dim = 0; dim < at.size(); ++dim)
      index = index * whole.shape(dim) + at[dim] + window.start[dim];
    uint64_t hash = (index + 1) * 0x9e3779b97f4a7c15u >> 40;
    double number = double(hash % 10);
    if (argument.role() == manifest::Binding::INPUT)
      number = double(hash % 2000) / 1000 - 1;
    else if (argument.role() == manifest::Binding::MASK)
      number = 1;
    else if (argument.role() == manifest::Binding::COUNT)
      number = double(batch);
    else if (argument.role() == manifest::Binding::LEARNING_RATE)
      number = 0.01;
    char *to = input.data.data() + i * byteSize(input.type);
    if (input.type == manifest::F32) {
      float value = float(number);
      std::memcpy(to, &value, sizeof value);
    } else {
      int64_t value = number;
      std::memcpy(to, &value, byteSize(input.type));
    }
    for (size_t dim = at.size(); dim-- > 0;) {
      if (++at[dim] < window.shape[dim])
        break;
      at[dim] = 0;
    }
  }
  return input;
}

/// `before`, `planned`: MiB.
Status train(Session &session, int steps, double before, double planned,
             bool tells) {
  const manifest::Entry *entry = session.findEntry("train_step");
  if (!entry)
    return Status::error(StatusCode::InvalidInput, "no train_step");
  std::vector<Tensor> inputs, outputs;
  for (const manifest::Binding &argument : entry->arguments())
    if (argument.role() != manifest::Binding::VARIABLE &&
        argument.role() != manifest::Binding::PREPARED)
      inputs.push_back(makeInput(argument,
                                 session.inputWindow(*entry, inputs.size()),
                                 session.manifest().global_batch()));
  std::vector<TensorView> views;
  for (const Tensor &input : inputs)
    views.push_back(input.view());
  std::vector<double> seconds;
  for (int step = 0; step < steps; ++step) {
    auto begin = std::chrono::steady_clock::now();
    DIST_RETURN_IF_ERROR(session.run(*entry, views, &outputs));
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  uint64_t digest = 1469598103934665603u;
  for (int i = 0; i < session.manifest().variables_size(); ++i) {
    Tensor value;
    DIST_RETURN_IF_ERROR(session.readVariable(i, &value));
    for (char byte : value.data)
      digest = (digest ^ static_cast<unsigned char>(byte)) * 1099511628211u;
  }
  std::vector<std::string> devices;
  DIST_RETURN_IF_ERROR(
      session.exchange(std::to_string(session.deviceBytes()), &devices));
  int64_t most = 0;
  for (const std::string &bytes : devices)
    most = std::max<int64_t>(most, std::stoll(bytes));
  std::sort(seconds.begin(), seconds.end());
  double peak = readMiB("VmHWM");
  if (tells)
    std::printf("step %.3f ms, peak %.1f MiB (%.2f of %.1f before and %.1f "
                "planned), device %lld bytes, variables %016llx\n",
                1e3 * seconds[seconds.size() / 2], peak,
                peak / (before + planned), before, planned,
                static_cast<long long>(most),
                static_cast<unsigned long long>(digest));
  return Status();
}

Status runRank(const std::string &package, const manifest::Manifest &m,
               std::map<std::string, std::string> &options) {
  SessionOptions session;
  bool together = options["--wire"] == "memory";
  if (!together) {
    MessageOptions message;
    message.setMesh(m.mesh());
    message.spinMicroseconds = std::stoi(options["--spin"]);
    message.spinForHostMicroseconds = message.spinMicroseconds;
    message.threadsPerRank = m.threads_per_device();
    message.parallelFor = cpu::parallelFor;
    session.process = std::stoi(options["--rank"]);
    std::unique_ptr<MessageWorld> world;
    std::vector<int> here{session.process};
    if (m.mesh().host() && session.process == m.ranks() - 2)
      here.push_back(m.ranks() - 1);
    DIST_RETURN_IF_ERROR(bench::openRanks(message, here, m.ranks(),
                                          options["--wire"] == "shm",
                                          options["--folder"], &world));
    session.world = std::move(world);
    std::vector<RankPlacement> ranks;
    // The mesh's host is with the last device.
    for (int rank = 0; rank < m.ranks(); ++rank) {
      bool isHost = m.mesh().host() && rank == m.ranks() - 1;
      int process = rank - isHost;
      ranks.push_back({process, 0, isHost, process});
    }
    session.placement.emplace();
    DIST_RETURN_IF_ERROR(
        Placement::create(std::move(ranks), &*session.placement));
  }
  double before = readMiB("VmRSS"), planned = 0;
  DIST_RETURN_IF_ERROR(
      countPlanned(m, together ? m.ranks() - m.mesh().host() : 1, &planned));
  std::unique_ptr<Session> made;
  DIST_RETURN_IF_ERROR(Session::open(package, session, &made));
  return train(*made, std::stoi(options["--steps"]), before, planned,
               session.process == 0);
}

} // namespace

int main(int count, char **arguments) {
  prepareUcx();
  if (count < 2) {
    std::fprintf(stderr, "process_training PACKAGE [--wire memory|shm|tcp] "
                         "[--steps N] [--spin MICROSECONDS]\n");
    return 2;
  }
  std::map<std::string, std::string> options{
      {"--wire", "shm"}, {"--steps", "20"}, {"--spin", "1000"}};
  for (int i = 2; i + 1 < count; i += 2)
    options[arguments[i]] = arguments[i + 1];
  manifest::Manifest m;
  std::ifstream file(std::filesystem::path(arguments[1]) / "manifest",
                     std::ios::binary);
  if (!m.ParseFromIstream(&file)) {
    std::fprintf(stderr, "%s is no package\n", arguments[1]);
    return 1;
  }
  if (options["--wire"] != "memory" && !options.count("--rank"))
    return !bench::runRanks({arguments, arguments + count},
                            m.ranks() - m.mesh().host());
  Status status = runRank(arguments[1], m, options);
  if (!status.ok())
    std::fprintf(stderr, "%s\n", status.message().c_str());
  return !status.ok();
}
