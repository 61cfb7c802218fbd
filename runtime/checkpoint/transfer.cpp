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
#include "runtime/formats/file_system.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>

namespace dist {

/// What is under way at once: each process holds so much of it.
static constexpr size_t kPieceBytes = size_t(4) << 20;

static Status ioError(const std::string &path, const std::string &why) {
  return Status::error(StatusCode::Unavailable, "cannot hand over a state",
                       path, why, "look for room in /dev/shm and in TMPDIR");
}

namespace {

/// A file of a state, piece by piece.
class PieceReader {
public:
  explicit PieceReader(const std::string &path)
      : path(path), file(fileSystem().open(path, O_RDONLY | O_CLOEXEC)) {}
  ~PieceReader() {
    if (file >= 0)
      fileSystem().close(file);
  }
  PieceReader(const PieceReader &) = delete;
  PieceReader &operator=(const PieceReader &) = delete;

  /// Empty behind the last.
  Status read(std::string *piece) {
    struct stat info;
    if (file < 0 || fileSystem().status(file, &info) != 0)
      return ioError(path, std::strerror(errno));
    piece->resize(std::min(kPieceBytes, size_t(info.st_size - at)));
    ssize_t got = 0;
    do
      got = piece->empty()
                ? 0
                : fileSystem().readAt(file, piece->data(), piece->size(), at);
    while (got < 0 && errno == EINTR);
    if (got < 0)
      return ioError(path, std::strerror(errno));
    piece->resize(size_t(got));
    at += got;
    return Status();
  }

private:
  const std::string path;
  const int file;
  off_t at = 0;
};

} // namespace

/// The files that `giver` has in `from`; who receives writes them in `to`.
/// `taken`: whether it could, which is its own error and none of the others'.
static Status transferFiles(Session &session, const std::string &from,
                            const std::string &to, int giver, bool receives,
                            Status *taken) {
  Status mine;
  const bool gives = session.process() == giver;
  std::vector<std::string> names, all;
  if (gives)
    for (const std::string &name : listNames(from))
      if (name != "." && name != "..")
        names.push_back(name);
  for (size_t i = 0;; ++i) {
    // Each file's name, then its pieces until one is empty.
    Status outcome;
    const std::string own = gives && i < names.size() ? names[i] : "";
    DIST_RETURN_IF_ERROR(share(session, mine, own, &all, &outcome));
    DIST_RETURN_IF_ERROR(std::move(outcome));
    if (all[size_t(giver)].empty())
      return Status();
    const std::string name = all[size_t(giver)];
    std::unique_ptr<PieceReader> reader;
    FileSink sink;
    if (gives)
      reader = std::make_unique<PieceReader>(from + "/" + name);
    if (receives && taken->ok())
      *taken = sink.open(to + "/" + name);
    do {
      std::string piece;
      if (gives)
        mine = reader->read(&piece);
      DIST_RETURN_IF_ERROR(share(session, mine, piece, &all, &outcome));
      DIST_RETURN_IF_ERROR(std::move(outcome));
      if (receives && taken->ok())
        *taken = sink.write(all[size_t(giver)]);
    } while (!all[size_t(giver)].empty());
    if (receives && taken->ok())
      *taken = sink.commit();
  }
}

Status transferState(Session &session, const std::string &folder, int giver,
                     bool receives) {
  // Where it does not come to its end, as another process is lost meanwhile,
  // what has come counts as no state.
  const std::string half = folder + kHalf;
  Status taken;
  if (receives) {
    removeAll(half);
    taken = makeFolders(half);
  }
  DIST_RETURN_IF_ERROR(
      transferFiles(session, folder, half, giver, receives, &taken));
  if (receives && taken.ok() && fileSystem().rename(half, folder) != 0)
    taken = ioError(folder, std::strerror(errno));
  // Who has no room for it ends, and is lost to the others, which go on
  // without.
  DIST_RETURN_IF_ERROR(taken);
  return share(session, Status());
}

} // namespace dist
