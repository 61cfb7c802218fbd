//===- transfer.cpp - A state that goes from process to process -----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/transfer.h"
#include "runtime/checkpoint/names.h"
#include "runtime/core/processes.h"
#include "runtime/formats/file.h"
#include <fstream>

namespace dist {

/// What is under way at once: each process holds so much of it.
static constexpr size_t kPieceBytes = size_t(4) << 20;

static Status ioError(const std::string &path) {
  return Status::error(StatusCode::Unavailable, "cannot hand over a state",
                       path, "its file cannot be read or written",
                       "look for room in /dev/shm and in TMPDIR");
}

Status transferState(Session &session, const std::string &folder,
                     bool receives) {
  const bool gives = session.process() == 0;
  std::vector<std::string> names;
  if (gives)
    for (const std::string &name : listNames(folder))
      if (name != "." && name != "..")
        names.push_back(name);
  std::vector<std::string> all;
  Status outcome, mine;
  if (receives)
    mine = makeFolders(folder);
  for (size_t i = 0;; ++i) {
    // Each file's name, then its pieces until one is empty.
    std::string name = gives && i < names.size() ? names[i] : "";
    DIST_RETURN_IF_ERROR(share(session, mine, name, &all, &outcome));
    DIST_RETURN_IF_ERROR(outcome);
    if (all.front().empty())
      return Status();
    const std::string path = folder + "/" + all.front();
    std::ifstream from;
    std::ofstream to;
    if (gives)
      from.open(path, std::ios::binary);
    if (receives)
      to.open(path, std::ios::binary | std::ios::trunc);
    do {
      std::string piece;
      if (gives) {
        piece.resize(kPieceBytes);
        from.read(piece.data(), std::streamsize(piece.size()));
        piece.resize(size_t(from.gcount()));
        mine = from.bad() || !from.is_open() ? ioError(path) : Status();
      }
      DIST_RETURN_IF_ERROR(share(session, mine, piece, &all, &outcome));
      DIST_RETURN_IF_ERROR(outcome);
      if (receives &&
          !to.write(all.front().data(), std::streamsize(all.front().size())))
        mine = ioError(path);
    } while (!all.front().empty());
    to.close();
    if (receives && !to)
      mine = ioError(path);
  }
}

} // namespace dist
