//===- crypto.h - libcrypto's objects ---------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CLUSTER_SECURITY_CRYPTO_H
#define RUNTIME_CLUSTER_SECURITY_CRYPTO_H

#include <memory>
#include <new>

namespace dist::cluster {

/// One of the library's objects, given back with the pointer.
template <auto function> struct FreeBy {
  template <typename Object> void operator()(Object *object) const {
    function(object);
  }
};
template <typename Object, auto function>
using Owned = std::unique_ptr<Object, FreeBy<function>>;

/// What is asked of the library here fails only where it has no memory left.
inline void requireCrypto(bool done) {
  if (!done)
    throw std::bad_alloc();
}

} // namespace dist::cluster

#endif // RUNTIME_CLUSTER_SECURITY_CRYPTO_H
