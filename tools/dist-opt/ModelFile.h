//===- ModelFile.h - A model file as a module -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_DIST_OPT_MODELFILE_H
#define TOOLS_DIST_OPT_MODELFILE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/formats/dependencies.h"
#include "tools/options/options.h"

namespace mlir::dist {

/// Reads the model file of the options, whatever its form; `batchSize` is the
/// value of the first symbolic dim (0: none was given). `isImported` tells
/// whether it was a model format, not MLIR. `dependencies`, if not null, gets
/// the files that were read. Errors are diagnostics.
OwningOpRef<ModuleOp> loadModel(MLIRContext *context,
                                const ::dist::tools::Options &options,
                                int64_t batchSize, bool *isImported,
                                ::dist::Dependencies *dependencies = nullptr);

/// Does what the options say of a model that is MLIR: which variables are
/// trained. An error where one is of importing. Errors are diagnostics.
LogicalResult applyModuleOptions(ModuleOp module,
                                 const ::dist::tools::Options &options);
/// Fails where a module, or its step, is made already: what options ask for
/// would be left aside, or its parts be taken for the whole.
LogicalResult checkStage(ModuleOp module,
                         const ::dist::tools::Options &options);
/// How many examples a module's batch has; 0: it does not say.
int64_t findModuleRows(ModuleOp module);

/// Prints `--coverage`: a row for each node of the model file. Gives the exit
/// code: 1 if a node can't be imported.
int printCoverage(MLIRContext *context, const ::dist::tools::Options &options,
                  int64_t batchSize);

} // namespace mlir::dist

#endif // TOOLS_DIST_OPT_MODELFILE_H
