//===- Collective.td - What all collectives have in common -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_DIST_IR_COLLECTIVE_TD
#define DIALECTS_DIST_IR_COLLECTIVE_TD
include "mlir/IR/OpBase.td"

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{
    An op in which the ranks of a group take part together. Every one says for
    which reason it is there (the op and the user's decision that asked for it)
    and where that comes from in the model file.
  }];
  let methods = [
    InterfaceMethod<"The mesh whose axes form the groups.",
      "::mlir::FlatSymbolRefAttr", "getCollectiveMesh", (ins), "",
      [{ return $_op.getMeshAttr(); }]>,
    InterfaceMethod<"The axes along which the ranks of a group differ.",
      "::llvm::SmallVector<::mlir::StringAttr>", "getGroupAxes", (ins), "", [{
        return ::llvm::to_vector($_op.getAxes().template getAsRange<::mlir::StringAttr>());
      }]>,
    InterfaceMethod<"Why it is there.", "::llvm::StringRef",
      "getCollectiveReason", (ins), "", [{ return $_op.getReason(); }]>,
    InterfaceMethod<"The place in the model file that asked for it.",
      "::llvm::StringRef", "getCollectiveOrigin", (ins), "",
      [{ return $_op.getOrigin(); }]>,
    InterfaceMethod<"Its number among the function's collectives, as the runtime reports it; -1 before it is given.",
      "int64_t", "getCollectiveId", (ins), "", [{ return $_op.getOpId(); }]>,
    InterfaceMethod<"Sets the number.", "void", "setCollectiveId",
      (ins "int64_t":$id), "", [{ $_op.setOpId(id); }]>,
    InterfaceMethod<"What the ranks do together, started or at once.",
      "::mlir::dist::CollectiveKind", "getCollectiveKind", (ins)>,
    InterfaceMethod<"Whether the mesh's host is one of the two ends.",
      "bool", "involvesHost", (ins), "", "return false;">,
    InterfaceMethod<"Whether each rank works alone, without any transfer.",
      "bool", "isLocal", (ins), "", "return false;">,
    InterfaceMethod<[{
        Whether its two ends are in the programs of different ranks: who gives
        has operands, who takes has results.
      }], "bool", "crossesPrograms", (ins), "", "return false;">,
    InterfaceMethod<[{
        Whether operands and results of one rank agree in shape for groups of
        `groupSize` ranks; emits the error.
      }], "::llvm::LogicalResult", "verifyShapes", (ins "int64_t":$groupSize)>,
    InterfaceMethod<[{
        The results of all ranks of one group from their operands:
        `operands[r][i]` is operand i of the group's rank r.
      }], "::llvm::LogicalResult", "evaluateGroup",
      (ins "::llvm::ArrayRef<::llvm::SmallVector<::mlir::dist::HostTensor>>":$operands,
           "::llvm::SmallVectorImpl<::llvm::SmallVector<::mlir::dist::HostTensor>> &":$results)>,
    InterfaceMethod<[{
        What the runtime does for it in groups of `groupSize` ranks: the strides
        of each operand and result (dialects/Dist/IR/CollectiveCall.h).
      }], "::mlir::dist::CollectiveCall", "getCall", (ins "int64_t":$groupSize)>,
    InterfaceMethod<[{
        Bytes that one rank of a group of `groupSize` sends, by the usual
        bandwidth-optimal algorithm.
      }], "double", "getBytesSent", (ins "int64_t":$groupSize)>,
    InterfaceMethod<"Rounds of messages in such a group, each waiting for the one before.",
      "int64_t", "getSteps", (ins "int64_t":$groupSize), "", "return 1;">,
  ];
}
#endif // DIALECTS_DIST_IR_COLLECTIVE_TD
