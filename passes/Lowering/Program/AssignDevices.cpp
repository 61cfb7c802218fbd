//===- AssignDevices.cpp - Which kind of device runs a function -----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Rt/IR/Rt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Lowering/Passes.h"

using namespace mlir;
using namespace mlir::dist;

namespace mlir::dist {
#define GEN_PASS_DEF_ASSIGNDEVICESPASS
#include "passes/Lowering/Passes.h.inc"
} // namespace mlir::dist

namespace {
struct AssignDevicesPass
    : mlir::dist::impl::AssignDevicesPassBase<AssignDevicesPass> {
  using Base::Base;
  void runOnOperation() override {
    Builder builder(&getContext());
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration())
        func->setAttr(
            rt::kDeviceAttr,
            builder.getStringAttr(isOnHost(func) ? rt::kCpu.str() : kind));
  }
};
} // namespace
