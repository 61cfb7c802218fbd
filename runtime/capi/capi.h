//===- capi.h - Behind the C interface's handles ----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CAPI_CAPI_H
#define RUNTIME_CAPI_CAPI_H

#include "dist/api.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/core/guard.h"
#include "runtime/core/session.h"
#include "runtime/core/thread_team.h"
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

struct dist_status_t {
  dist::StatusCode code;
  std::string message; // on one line
};

struct dist_team_t {
  std::shared_ptr<dist::ThreadTeam> threads;
};

/// A session, what each entry's last run gave, and scratch that calls use
/// again.
struct dist_session_t {
  std::unique_ptr<dist::Session> session;
  /// Calls under way that run several entries, one within the other's
  /// functions, and whether they were cancelled, be it between two entries.
  std::mutex callsMutex;
  int calls = 0;
  std::atomic<bool> cancelled{false};
  std::vector<dist::TensorView> inputs;
  /// One for each entry, so that what one gives another can take.
  std::map<const dist::manifest::Entry *, std::vector<dist::Tensor>> outputs;

  const google::protobuf::RepeatedPtrField<dist::manifest::Entry> &
  entries() const {
    const dist::manifest::Manifest &m = session->manifest();
    return m.programs(m.program_of_rank(0)).entries();
  }
};

namespace dist {

/// A call that runs several entries is under way.
class CallScope {
public:
  explicit CallScope(dist_session_t *session) : session(session) {
    std::lock_guard<std::mutex> lock(session->callsMutex);
    if (session->calls++ == 0)
      session->cancelled = false;
  }
  ~CallScope() {
    std::lock_guard<std::mutex> lock(session->callsMutex);
    --session->calls;
  }
  CallScope(const CallScope &) = delete;
  CallScope &operator=(const CallScope &) = delete;

private:
  dist_session_t *session;
};

/// NULL for success; a status that says so when there is no memory for one.
dist_status_t *toC(Status status) noexcept;

/// Runs `body`, which returns a Status, and lets no exception out.
template <typename Function> dist_status_t *guarded(Function body) noexcept {
  return toC(withoutThrowing(body));
}

/// The same of calls that return no status: `otherwise` if it throws.
template <typename Result, typename Function>
Result guarded(Result otherwise, Function body) noexcept {
  try {
    return body();
  } catch (...) {
    return otherwise;
  }
}

/// A caller's enum as the number that it is: one that no enumerator has must be
/// told, and to read it as an enum is undefined.
template <typename Enum> int numberOf(const Enum &given) {
  int number = 0;
  static_assert(sizeof number == sizeof given);
  std::memcpy(&number, &given, sizeof number);
  return number;
}

inline Status badArgument(const std::string &what,
                          const std::string &where = "") {
  return Status::error(StatusCode::InvalidArgument, what, where);
}

/// Reads a caller's struct, which may be older (shorter: the rest stays as it
/// is in `out`) or newer (longer: what this library does not know must be
/// zero). `least` is the size of its first version. NULL is an empty one.
template <typename Struct>
Status takeStruct(const Struct *given, size_t least, const char *name,
                  Struct *out) {
  if (!given)
    return Status();
  size_t size = given->struct_size;
  if (size < least)
    return badArgument("struct_size is not set", name);
  const char *bytes = reinterpret_cast<const char *>(given);
  for (size_t i = sizeof(Struct); i < size; ++i)
    if (bytes[i])
      return badArgument("an option is set that this library does not know yet",
                         name);
  std::memcpy(out, given, std::min(size, sizeof(Struct)));
  out->struct_size = sizeof(Struct);
  return Status();
}

/// Fills as much of a caller's struct as the caller knows.
template <typename Struct>
Status giveStruct(const Struct &filled, size_t least, const char *name,
                  Struct *out) {
  if (!out)
    return badArgument("room for the result is needed", name);
  size_t size = out->struct_size;
  if (size < least)
    return badArgument("struct_size is not set", name);
  std::memcpy(out, &filled, std::min(size, sizeof(Struct)));
  out->struct_size = size;
  return Status();
}

/// `given`: a dist_checkpoint_use_t.
Status toFolderUse(int given, FolderUse *out);

/// A tensor of the caller's, checked but for its data.
Status toView(const dist_tensor_t *tensor, TensorView *out);

} // namespace dist

#endif // RUNTIME_CAPI_CAPI_H
