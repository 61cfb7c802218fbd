//===- fit_processes.cpp - Trains as so many processes would --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fit_processes PACKAGE DATA EPOCHS PROCESS,PROCESS,... [OPTION...]: a session
// for each process, with the ranks that the list gives to it by their numbers,
// or for `-` those that the package says. They reach each other through
// messages alone, and each trains on a thread of its own. Prints what process 0
// tells, and fails unless all tell the same.
//
//   stop=N          the last process is told to stop after so many steps
//   checkpoint=DIR  states are saved there, every=N steps apart (else epochs)
//   resume, async   as dist-run fit has them
//   kill            all die once there is a state and the files of the next one
//                   are written, which is none yet
//   best=FILE       the model of the epoch with the least loss
//   output=FILE     the model at the end
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/message/memory/memory.h"
#include "runtime/comm/message/message.h"
#include "runtime/core/package.h"
#include "runtime/train/trainer.h"
#include <cinttypes>
#include <cstdio>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

using namespace dist;

namespace {

/// Whether there is a state, and the values of the next one, of all processes.
bool isBetween(const std::string &checkpoint, int processes) {
  std::error_code ignored;
  char name[64];
  bool hasState = false, hasValues = false;
  for (auto &item : std::filesystem::directory_iterator(checkpoint, ignored)) {
    hasState |= item.path().filename().string().rfind("step-", 0) == 0;
    if (item.path().filename().string().rfind(".saving-", 0) != 0 ||
        exists(item.path() / "state.json", ignored))
      continue;
    int written = 0;
    for (int i = 1; i <= processes; ++i) {
      std::snprintf(name, sizeof name, "variables-%05d-of-%05d.safetensors", i,
                    processes);
      written += exists(item.path() / name, ignored);
    }
    hasValues |= written == processes;
  }
  return hasState && hasValues;
}

struct Teller : FitObserver {
  std::string text, notes;
  Session *session = nullptr;
  std::string best;  // the file of the best epoch's model
  std::string dieIn; // a folder of states
  int64_t steps = 0, stopAfter = INT64_MAX;

  void add(const char *kind, int64_t number, const std::string &name,
           double value) {
    char line[128];
    std::snprintf(line, sizeof line, "%s %" PRId64 " %s %a\n", kind, number,
                  name.c_str(), value);
    text += line;
  }
  Status step(const StepRow &row) override {
    add("step", row.step, "loss", row.loss);
    ++steps;
    if (!dieIn.empty() && isBetween(dieIn, session->processes()))
      raise(SIGKILL);
    return Status();
  }
  Status epoch(const EpochRow &row, int64_t) override {
    for (auto &[name, value] : row.values)
      add("epoch", row.epoch, name, value);
    return Status();
  }
  Status improved(const EpochRow &, bool *) override {
    return saveVariables(best, *session);
  }
  void note(const std::string &note) override { notes += note + "\n"; }
  bool stops() override { return steps >= stopAfter; }
};

struct Process {
  std::shared_ptr<MessageWorld> world;
  std::unique_ptr<Session> session;
  std::unique_ptr<Dataset> data;
  Teller teller;
  Status status;

  Status open(const std::string &package, SessionOptions options,
              const DataOptions &files) {
    options.world = world;
    DIST_RETURN_IF_ERROR(Session::open(package, options, &session));
    teller.session = session.get();
    return Dataset::open(files, *trainingEntry(*session), &data);
  }
};

} // namespace

/// The processes that the list names by rank, or the package.
static Status place(const manifest::Manifest &manifest, const std::string &list,
                    Placement *out) {
  if (list == "-")
    return Placement::ofPackage(manifest, {}, out);
  std::vector<RankPlacement> ranks;
  std::istringstream pieces(list);
  for (std::string piece; std::getline(pieces, piece, ',');) {
    int process = std::stoi(piece);
    ranks.push_back({process, 0, static_cast<int>(ranks.size()), process});
  }
  return Placement::create(std::move(ranks), out);
}

static Status openAll(const std::string &package,
                      const manifest::Manifest &manifest,
                      const std::string &spec, const Placement &placement,
                      std::vector<Process> &processes) {
  MessageOptions options;
  options.setMesh(manifest.mesh());
  SessionOptions session;
  session.placement = placement;
  if (placement.ranks() != manifest.ranks())
    return Status::error(StatusCode::InvalidArgument, "wrong number of ranks",
                         package, "", "give each rank a process");
  std::vector<std::vector<std::unique_ptr<Transport>>> ends(processes.size());
  for (auto &end : makeMemoryTransports(placement.ranks()))
    ends[placement.of(end->rank()).process].push_back(std::move(end));
  DataOptions files;
  files.spec = spec;
  for (size_t i = 0; i < processes.size(); ++i) {
    std::unique_ptr<MessageWorld> made;
    DIST_RETURN_IF_ERROR(
        MessageWorld::create(options, std::move(ends[i]), &made));
    processes[i].world = std::move(made);
    session.process = i;
    DIST_RETURN_IF_ERROR(processes[i].open(package, session, files));
  }
  return Status();
}

int main(int argc, char **argv) {
  if (argc < 5) {
    std::fprintf(stderr, "fit_processes PACKAGE DATA EPOCHS PROCESS,... "
                         "[OPTION...]\n");
    return 2;
  }
  // A file at its size limit is an error like a full disk, as in dist-run.
  std::signal(SIGXFSZ, SIG_IGN);
  FitOptions options;
  options.epochs = std::atoi(argv[3]);
  // What the world needs of the mesh is in the package.
  manifest::Manifest manifest;
  Placement placement;
  Status status = readManifest(argv[1], &manifest);
  if (status.ok())
    status = place(manifest, argv[4], &placement);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  std::vector<Process> processes(placement.processes());
  std::string output;
  for (int i = 5; i < argc; ++i) {
    std::string key = argv[i], given;
    if (size_t at = key.find('='); at != std::string::npos) {
      given = key.substr(at + 1);
      key.resize(at);
    }
    if (key == "stop")
      processes.back().teller.stopAfter = std::stoll(given);
    else if (key == "checkpoint")
      options.checkpoint = given;
    else if (key == "every")
      options.saveEvery = std::stoll(given);
    else if (key == "resume")
      options.folder.use = FolderUse::Resume;
    else if (key == "async")
      options.asyncSave = true;
    else if (key == "kill")
      for (Process &process : processes)
        process.teller.dieIn = options.checkpoint;
    else if (key == "output")
      output = given;
    else if (key == "best") {
      options.monitors.saveBest.metric = "loss";
      for (Process &process : processes)
        process.teller.best = given;
    } else {
      std::fprintf(stderr, "no option %s\n", argv[i]);
      return 2;
    }
  }
  status = openAll(argv[1], manifest, argv[2], placement, processes);
  std::vector<std::thread> threads;
  for (Process &process : processes)
    if (status.ok())
      threads.emplace_back([&] {
        process.status = fit(*process.session, *process.data,
                             process.data.get(), options, process.teller);
        if (process.status.ok() && !output.empty())
          process.status = saveVariables(output, *process.session);
      });
  for (std::thread &thread : threads)
    thread.join();
  for (Process &process : processes)
    if (status.ok())
      status = process.status;
  std::fputs(processes[0].teller.notes.c_str(), stderr);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  for (Process &process : processes)
    if (process.teller.text != processes[0].teller.text ||
        process.teller.notes != processes[0].teller.notes) {
      std::fprintf(stderr, "the processes tell different things:\n%s%s\n%s%s",
                   processes[0].teller.text.c_str(),
                   processes[0].teller.notes.c_str(),
                   process.teller.text.c_str(), process.teller.notes.c_str());
      return 1;
    }
  std::fputs(processes[0].teller.text.c_str(), stdout);
  for (int rank = 0; rank < placement.ranks(); ++rank)
    std::printf(
        "rank %d sent %" PRId64 " bytes\n", rank,
        processes[placement.of(rank).process].world->traffic(rank).bytes);
}
