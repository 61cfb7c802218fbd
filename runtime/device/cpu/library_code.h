//===- library_code.h - What oneDNN's code takes of a process ---*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DEVICE_CPU_LIBRARY_CODE_H
#define RUNTIME_DEVICE_CPU_LIBRARY_CODE_H

namespace dist::cpu {

/// Gives the pages of the library's code back to the system, which reads those
/// that are called again from its cache of the file. To choose and to generate
/// kernels takes 20 MiB of code, of which running them needs little: of small
/// models that is more than all else. Any thread may be within that code. It
/// stays where something was written into it, as breakpoints are.
void releaseLibraryCode();

} // namespace dist::cpu

#endif // RUNTIME_DEVICE_CPU_LIBRARY_CODE_H
