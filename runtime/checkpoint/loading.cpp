//===- loading.cpp - Going back to a state -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/kept_states.h"
#include "runtime/checkpoint/names.h"
#include "runtime/checkpoint/transfer.h"
#include "runtime/checkpoint/values.h"
#include "runtime/core/processes.h"
#include <algorithm>
#include <map>
#include <sstream>

namespace dist {

namespace {

/// A state that is looked at.
struct Candidate {
  std::string folder;
  StateHeader header;
  std::unique_ptr<SavedValues> values;
  std::unique_ptr<Restorer> restorer;

  Status open(Session &session, bool *damaged) {
    DIST_RETURN_IF_ERROR(readHeader(folder, &header, damaged));
    DIST_RETURN_IF_ERROR(SavedValues::open(folder, header, &values, damaged));
    restorer = std::make_unique<Restorer>(folder, header, *values, session);
    return restorer->check(damaged);
  }
};

} // namespace

/// What `chief` says in process 0, a line each, to all.
static Status tellAll(Session &session, std::vector<std::string> *lines) {
  std::string text;
  for (const std::string &line : *lines)
    text += line + "\n";
  std::vector<std::string> texts;
  Status outcome;
  DIST_RETURN_IF_ERROR(share(session, Status(), text, &texts, &outcome));
  lines->clear();
  std::istringstream stream(texts.front());
  for (std::string line; std::getline(stream, line);)
    lines->push_back(line);
  return Status();
}

/// Opens a state in all processes. `damaged`: in one of them it is. `outcome`:
/// the first error of one of them.
static Status openState(Session &session, Candidate &candidate, bool *damaged,
                        Status *outcome) {
  bool here = false;
  Status mine;
  if (session.process() > 0 && !exists(candidate.folder))
    mine = Status::error(StatusCode::Unavailable, "cannot load checkpoint",
                         candidate.folder,
                         "process 0 has this folder, and here it is missing",
                         "give a folder that all processes share");
  else
    mine = candidate.open(session, &here);
  // What one cannot read counts more than what is damaged for another.
  std::vector<std::string> kinds;
  DIST_RETURN_IF_ERROR(share(session, mine,
                             mine.ok() ? ""
                             : here    ? "d"
                                       : "e",
                             &kinds, outcome));
  *damaged = !outcome->ok() &&
             std::find(kinds.begin(), kinds.end(), "e") == kinds.end();
  return Status();
}

Status CheckpointFolder::load(Session &session, TrainingState *state,
                              bool *found, std::vector<std::string> *notes,
                              int64_t newerThan) {
  OwnWork work(session);
  *found = false;
  std::vector<std::string> steps;
  if (session.process() == 0)
    for (int64_t step : listStates(path))
      if (step > newerThan)
        steps.push_back(std::to_string(step));
  DIST_RETURN_IF_ERROR(tellAll(session, &steps));
  std::vector<std::pair<int64_t, std::string>> passed; // damaged, and how
  auto putAside = [&] {
    std::vector<std::string> aside;
    if (session.process() == 0)
      for (auto &[bad, why] : passed) {
        std::string name = setAside(bad);
        aside.push_back(why +
                        (*found ? "; going back to the one before"
                                : "; what is in memory is gone on from") +
                        " (it is kept as " + name + ")");
        own.erase(std::remove(own.begin(), own.end(), bad), own.end());
      }
    DIST_RETURN_IF_ERROR(tellAll(session, &aside));
    notes->insert(notes->end(), aside.begin(), aside.end());
    return Status();
  };
  for (const std::string &text : steps) {
    int64_t step = std::stoll(text);
    Candidate candidate;
    candidate.folder = path + "/" + stateName(step);
    bool damaged = false;
    Status status;
    DIST_RETURN_IF_ERROR(openState(session, candidate, &damaged, &status));
    if (!status.ok() && !damaged && newerThan >= 0)
      notes->push_back(status.message());
    if (!status.ok() && !damaged)
      return newerThan < 0 ? status : Status();
    if (damaged) {
      passed.emplace_back(step, status.message());
      continue;
    }
    std::vector<std::string> anew;
    DIST_RETURN_IF_ERROR(share(session, candidate.restorer->run(state, &anew)));
    *found = true;
    DIST_RETURN_IF_ERROR(putAside());
    notes->insert(notes->end(), anew.begin(), anew.end());
    return Status();
  }
  if (passed.empty())
    return Status();
  if (newerThan >= 0)
    return putAside();
  for (auto &[bad, why] : passed)
    notes->push_back(why);
  return Status::error(StatusCode::InvalidInput, "no sound checkpoint", path,
                       passed.front().second,
                       "start anew with --overwrite, or give another folder");
}

Status loadKept(const std::string &folder, Session &session,
                TrainingState *state, Kept *found,
                std::vector<std::string> *notes) {
  OwnWork work(session);
  *found = Kept::Nothing;
  std::string mine;
  for (int64_t step : listStates(folder))
    mine += std::to_string(step) + " ";
  std::vector<std::string> texts;
  Status outcome;
  DIST_RETURN_IF_ERROR(share(session, Status(), mine, &texts, &outcome));
  std::map<int64_t, size_t> counts; // of those that have it
  size_t owners = 0;
  int giver = 0; // the first of them
  for (const std::string &text : texts) {
    giver += owners == 0 && text.empty();
    owners += !text.empty();
    std::istringstream steps(text);
    for (int64_t step; steps >> step;)
      ++counts[step];
  }
  if (owners == 0)
    return Status();
  *found = Kept::Part;
  int64_t newest = -1;
  for (auto &[step, count] : counts)
    if (count == owners)
      newest = step;
  if (newest < 0)
    return Status();
  Candidate candidate;
  candidate.folder = folder + "/" + stateName(newest);
  if (owners < texts.size())
    DIST_RETURN_IF_ERROR(transferState(session, candidate.folder, giver,
                                       /*receives=*/mine.empty()));
  bool damaged = false;
  Status status;
  DIST_RETURN_IF_ERROR(openState(session, candidate, &damaged, &status));
  if (!status.ok())
    return damaged ? Status() : status;
  std::vector<std::string> anew;
  DIST_RETURN_IF_ERROR(share(session, candidate.restorer->run(state, &anew)));
  notes->insert(notes->end(), anew.begin(), anew.end());
  *found = Kept::Whole;
  return Status();
}

} // namespace dist
