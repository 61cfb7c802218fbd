//===- Partitioner.cpp - Cutting variables for servers --------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Strategy/Partitioner.h"
#include "dialects/Interfaces/Cost.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;
using namespace mlir::dist;

FailureOr<Partitioner>
Partitioner::parse(StringRef text, int64_t servers,
                   function_ref<InFlightDiagnostic()> emitError) {
  Partitioner made;
  if (text.empty())
    return made;
  auto [first, rest] = text.split(':');
  auto [name, value] = first.split('=');
  made.kind = llvm::StringSwitch<Kind>(name)
                  .Case("fixed", Kind::Fixed)
                  .Case("min-size", Kind::MinSize)
                  .Case("max-size", Kind::MaxSize)
                  .Default(Kind::None);
  if (made.kind == Kind::MinSize)
    made.most = servers;
  bool isGood = made.kind != Kind::None &&
                !value.getAsInteger(10, made.number) && made.number >= 1;
  if (text.contains(':'))
    isGood &= made.kind != Kind::Fixed && rest.consume_front("max=") &&
              !rest.getAsInteger(10, made.most) && made.most >= 1;
  if (isGood)
    return made;
  emitError() << "--partitioner: expected fixed=K, min-size=BYTES[:max=N] or "
                 "max-size=BYTES[:max=N], but got '"
              << text << "'";
  return failure();
}

int64_t Partitioner::countParts(RankedTensorType type) const {
  if (kind == Kind::None || type.getRank() == 0 || type.getNumElements() == 0)
    return 1;
  int64_t rows = type.getDimSize(0), bytes = getByteSize(type);
  int64_t parts = number;
  if (kind == Kind::MinSize)
    parts = bytes / number;
  if (kind == Kind::MaxSize) {
    int64_t bytesOfRow = std::max<int64_t>(1, bytes / rows);
    int64_t rowsOfPart = std::max<int64_t>(1, number / bytesOfRow);
    parts = llvm::divideCeil(rows, rowsOfPart);
  }
  if (most > 0)
    parts = std::min(parts, most);
  return std::clamp<int64_t>(parts, 1, rows);
}
