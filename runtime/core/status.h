//===- status.h - Result of a runtime call -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_STATUS_H
#define RUNTIME_CORE_STATUS_H

#include <string>
#include <utility>

namespace dist {

/// Who is at fault; the tools' exit codes follow from it.
enum class StatusCode {
  Ok = 0,
  /// The input (a file, data, a model) is at fault: exit 1.
  InvalidInput = 1,
  /// Wrong usage: exit 2.
  InvalidArgument = 2,
  /// A device, a peer or the file system failed: exit 3.
  Unavailable = 3,
  /// An invariant of ours broke: exit 3.
  Internal = 4,
  /// The user or the app asked for it: exit 3.
  Cancelled = 5,
};

/// Success, or an error that says what, where, why and what to do. Rendered as
/// "WHAT (WHERE): WHY; WHAT TO DO" (parts may be empty).
class [[nodiscard]] Status {
public:
  Status() = default;
  static Status error(StatusCode code, std::string what, std::string where = "",
                      std::string why = "", std::string todo = "") {
    Status status;
    status.errorCode = code;
    status.text = std::move(what);
    if (!where.empty())
      status.text += " (" + where + ")";
    if (!why.empty())
      status.text += ": " + why;
    if (!todo.empty())
      status.text += "; " + todo;
    return status;
  }
  /// Needs no memory itself: so short a text lies in the object.
  static Status outOfMemory() noexcept {
    Status status;
    status.errorCode = StatusCode::Unavailable;
    status.text = "out of memory";
    return status;
  }
  bool ok() const { return errorCode == StatusCode::Ok; }
  explicit operator bool() const = delete;
  StatusCode code() const { return errorCode; }
  const std::string &message() const { return text; }

private:
  StatusCode errorCode = StatusCode::Ok;
  std::string text;
};

#define DIST_RETURN_IF_ERROR(expression)                                       \
  do {                                                                         \
    if (::dist::Status dist_status = (expression); !dist_status.ok())          \
      return dist_status;                                                      \
  } while (false)

} // namespace dist

#endif // RUNTIME_CORE_STATUS_H
