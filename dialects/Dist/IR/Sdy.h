//===- Sdy.h - Shardy's text, for interchange -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and prints what Shardy's `sdy` dialect writes of meshes and shardings,
// without that dialect: its attributes are kept as text, and
// `sdy.mesh` and `sdy.sharding_constraint` are ops that are known by name only.
// dist-import-sdy and dist-export-sdy turn them into our own and back.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_DIST_IR_SDY_H
#define DIALECTS_DIST_IR_SDY_H

#include "dialects/Dist/IR/Dist.h"

namespace mlir::dist {

class SdyDialect : public Dialect {
public:
  explicit SdyDialect(MLIRContext *context);
  static constexpr StringLiteral getDialectNamespace() {
    return StringLiteral("sdy");
  }

  Attribute parseAttribute(DialectAsmParser &parser, Type type) const override;
  std::optional<ParseOpHook>
  getParseOperationHook(StringRef name) const override;
  llvm::unique_function<void(Operation *, OpAsmPrinter &)>
  getOperationPrinter(Operation *op) const override;
};

/// Of both ops. A mesh has `sym_name`, `axis_names` and `axis_sizes`, a
/// constraint a `sharding` of ours.
inline constexpr llvm::StringLiteral kSdyMesh = "sdy.mesh";
inline constexpr llvm::StringLiteral kSdyConstraint = "sdy.sharding_constraint";
/// On ops (`#sdy.sharding_per_value<..>`), arguments and results of functions
/// (`#sdy.sharding<..>`).
inline constexpr llvm::StringLiteral kSdySharding = "sdy.sharding";

/// `#sdy.MNEMONIC<BODY>` as an attribute that is text.
Attribute getSdyAttribute(MLIRContext *context, StringRef mnemonic,
                          StringRef body);
/// The text between `<` and `>`; none if the attribute is another.
std::optional<StringRef> findSdyBody(Attribute attribute, StringRef mnemonic);

/// `@mesh, [{"a"}, {?}], replicated={"b"}` of ours.
std::string printSdyBody(ShardingAttr sharding);
/// Ours of such a text; `emitError` says what does not map.
FailureOr<ShardingAttr>
parseSdyBody(MLIRContext *context, StringRef body,
             llvm::function_ref<InFlightDiagnostic()> emitError);

} // namespace mlir::dist

MLIR_DECLARE_EXPLICIT_TYPE_ID(mlir::dist::SdyDialect)

#endif // DIALECTS_DIST_IR_SDY_H
