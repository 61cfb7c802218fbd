//===- TestVolume.cpp - Bytes that a program sends, by collective ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `test-transfer-volume` prints a line for each function of a partitioned
// module: how often each collective stands there, and the bytes that one rank
// sends by it:
//   @step: all_gather 2 x, 96 bytes, all_reduce 1 x, 64 bytes; 160 bytes in all
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace mlir;
using namespace mlir::dist;

namespace {
struct TestTransferVolume
    : PassWrapper<TestTransferVolume, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestTransferVolume)
  StringRef getArgument() const final { return "test-transfer-volume"; }
  StringRef getDescription() const final {
    return "prints the bytes that each function sends";
  }
  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      struct Volume {
        int64_t count = 0;
        double bytes = 0;
      };
      std::map<std::string, Volume> volumes;
      double all = 0;
      function.walk([&](CollectiveOpInterface op) {
        if (op.isLocal() || !mesh)
          return;
        double bytes = op.getBytesSent(mesh.getGroupSize(op.getGroupAxes()));
        Volume &volume = volumes[op->getName().stripDialect().str()];
        ++volume.count;
        volume.bytes += bytes;
        all += bytes;
      });
      llvm::outs() << "@" << function.getSymName() << ": ";
      bool first = true;
      for (auto &[name, volume] : volumes) {
        llvm::outs() << (first ? "" : ", ") << name << " " << volume.count
                     << " x, " << int64_t(volume.bytes) << " bytes";
        first = false;
      }
      llvm::outs() << (first ? "nothing is sent\n"
                             : "; " + std::to_string(int64_t(all)) +
                                   " bytes in all\n");
    }
  }
};
} // namespace

namespace mlir::dist {
void registerTestVolume();
void registerTestVolume() { PassRegistration<TestTransferVolume>(); }
} // namespace mlir::dist
