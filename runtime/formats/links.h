//===- links.h - Where what is written under a name lies --------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_FORMATS_LINKS_H
#define RUNTIME_FORMATS_LINKS_H

#include <string>

namespace dist {

/// Where the symbolic links lead that are a path's last part, whether something
/// is there or not: what is renamed into place would replace the link, and be
/// on its disk.
std::string withoutLinks(const std::string &path);

/// The open descriptor of this process that a path is a name of, as /dev/stdout
/// is: whatever it is of is written through that, and never replaced. -1: none.
int ownDescriptor(const std::string &path);

/// A pattern, as mkstemp takes it, of names beside that one. File systems limit
/// names, and a name that they take has one.
std::string patternBeside(const std::string &path);

} // namespace dist

#endif // RUNTIME_FORMATS_LINKS_H
