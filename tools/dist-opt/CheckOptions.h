//===- CheckOptions.h - Options whose grammar the passes know -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_OPT_CHECKOPTIONS_H
#define TOOLS_DIST_OPT_CHECKOPTIONS_H

#include "mlir/Support/LLVM.h"
#include "tools/options/options.h"

namespace mlir::dist {

/// Prints what is wrong with the words of `--loss`, `--optimizer`,
/// `--lr-schedule`, `--metrics`, `--split`, `--partitioner` or `--compress`:
/// wrong usage whatever the model is, which in a pass would be an error of the
/// model.
LogicalResult checkOptions(const ::dist::tools::Options &options);

} // namespace mlir::dist

#endif // TOOLS_DIST_OPT_CHECKOPTIONS_H
