//===- ChannelsLast.td - Activations with their channels last -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_CHANNELSLAST_TD
#define DIALECTS_INTERFACES_CHANNELSLAST_TD
include "mlir/IR/OpBase.td"

def ChannelsLastOpInterface : OpInterface<"ChannelsLastOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{
    An op that also works on activations whose channels, dim 1 of three or more,
    became the last dim. What does not have it gets them back as they were,
    through a transpose.
  }];
  let methods = [
    InterfaceMethod<[{
        Whether its activations are moved for its sake; others move only where
        an operand was.
      }], "bool", "wantsChannelsLast", (ins), "", "return false;">,
    InterfaceMethod<[{
        Whether the operand is such an activation; others stay as they are.
      }], "bool", "hasChannels", (ins "unsigned":$operand), "", [{
        return ::mlir::dist::hasDimsOfFirst($_op, operand);
      }]>,
    InterfaceMethod<[{
        Rewrites `attributes` (the op's own) for such activations of `rank`
        dims, and says what becomes of the results.
      }], "::mlir::dist::ChannelMove", "moveChannels",
      (ins "int64_t":$rank, "::mlir::NamedAttrList &":$attributes), "",
      "return ::mlir::dist::ChannelMove::Follows;">,
  ];
}
#endif
