//===- variants.h - A package's code for several CPUs -----------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A package has one set of weights, and code and its description (kernels,
// memory plan) for one CPU or several. The first variant's files are `manifest`
// and `program.so`, those of variant NAME `manifest.NAME` and
// `program.NAME.so`; the first manifest lists the names.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_VARIANTS_H
#define RUNTIME_CORE_VARIANTS_H

#include "runtime/core/package.h"
#include "runtime/core/package_files.h"

namespace dist {

/// The names of the variants that a package has, by its first manifest; the
/// first's is empty. An error: one of them is no file name of a variant.
Status listVariants(const manifest::Manifest &first, const std::string &folder,
                    std::vector<std::string> *names);

/// Reads and checks a variant's manifest.
Status readVariant(const std::string &folder, const std::string &variant,
                   manifest::Manifest *out);

/// One that a machine may run.
struct Variant {
  std::string name; // of its files
  manifest::Manifest manifest;
};

/// Of the variants that `host` has all features for, the one with the most; of
/// as many, the earlier. `wanted`: the one for that CPU instead (its
/// target_cpu). Errors: a damaged package, variants that are not of one
/// program, none that fits, with what each lacks.
Status chooseVariant(const std::string &folder, const Host &host,
                     const std::string &wanted, Variant *out);

} // namespace dist

#endif // RUNTIME_CORE_VARIANTS_H
