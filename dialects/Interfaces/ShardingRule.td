//===- ShardingRule.td - Interface of sharding rules -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_SHARDINGRULE_TD
#define DIALECTS_INTERFACES_SHARDINGRULE_TD
include "mlir/IR/OpBase.td"

def ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{
    How the op's dims may be split over mesh axes, and how the op looks on one
    rank after the split. Propagation and the partitioner use nothing else.
  }];
  let methods = [
    InterfaceMethod<[{
        The op's factors, from its present (global or local) shapes.
      }], "::mlir::dist::ShardingRule", "getShardingRule", (ins)>,
    InterfaceMethod<[{
        Builds the op of one rank. `operands` have local shapes, `resultTypes`
        are the local result types, `factorShards[f]` is the number of equal
        parts factor f of `getShardingRule()` was split into (1 = whole). Ops
        whose attributes mention sizes adapt them here.
      }], "::mlir::FailureOr<::mlir::Operation *>", "partition",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands,
           "::mlir::TypeRange":$resultTypes,
           "::llvm::ArrayRef<int64_t>":$factorShards),
      /*methodBody=*/"", /*defaultImplementation=*/[{
        return ::mlir::dist::cloneWithLocalTypes($_op.getOperation(), builder,
                                                 operands, resultTypes);
      }]>,
  ];
}
#endif
