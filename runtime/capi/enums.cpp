//===- enums.cpp - C's enums are the manifest's -----------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The public headers write their numbers by hand, since they are C, and the
// implementation casts: here the compiler compares them.
//
//===----------------------------------------------------------------------===//
#include "dist/session.h"
#include "dist/status.h"
#include "dist/tensor.h"
#include "runtime/core/manifest.pb.h"
#include "runtime/core/status.h"

namespace dist {

#define DIST_SAME(ours, theirs) static_assert(int(ours) == int(theirs), #ours)

DIST_SAME(DIST_DATA_TYPE_F32, manifest::F32);
DIST_SAME(DIST_DATA_TYPE_F64, manifest::F64);
DIST_SAME(DIST_DATA_TYPE_F16, manifest::F16);
DIST_SAME(DIST_DATA_TYPE_BF16, manifest::BF16);
DIST_SAME(DIST_DATA_TYPE_BOOL, manifest::BOOL);
DIST_SAME(DIST_DATA_TYPE_I8, manifest::I8);
DIST_SAME(DIST_DATA_TYPE_I16, manifest::I16);
DIST_SAME(DIST_DATA_TYPE_I32, manifest::I32);
DIST_SAME(DIST_DATA_TYPE_I64, manifest::I64);
DIST_SAME(DIST_DATA_TYPE_U8, manifest::U8);
DIST_SAME(DIST_DATA_TYPE_U16, manifest::U16);
DIST_SAME(DIST_DATA_TYPE_U32, manifest::U32);
DIST_SAME(DIST_DATA_TYPE_U64, manifest::U64);
static_assert(manifest::DataType_MAX == int(DIST_DATA_TYPE_U64),
              "a type of the manifest has no name in C");

DIST_SAME(DIST_ROLE_INPUT, manifest::Binding::INPUT);
DIST_SAME(DIST_ROLE_LABEL, manifest::Binding::LABEL);
DIST_SAME(DIST_ROLE_MASK, manifest::Binding::MASK);
DIST_SAME(DIST_ROLE_COUNT, manifest::Binding::COUNT);
DIST_SAME(DIST_ROLE_OUTPUT, manifest::Binding::OUTPUT);
DIST_SAME(DIST_ROLE_LOSS, manifest::Binding::LOSS);
DIST_SAME(DIST_ROLE_LEARNING_RATE, manifest::Binding::LEARNING_RATE);
DIST_SAME(DIST_ROLE_FINITE, manifest::Binding::FINITE);
DIST_SAME(DIST_ROLE_GRADIENT, manifest::Binding::GRADIENT);
static_assert(manifest::Binding::Role_MAX < int(DIST_ROLE_OTHER),
              "a role of the manifest is C's for all others");

DIST_SAME(DIST_STATUS_OK, StatusCode::Ok);
DIST_SAME(DIST_STATUS_INVALID_INPUT, StatusCode::InvalidInput);
DIST_SAME(DIST_STATUS_INVALID_ARGUMENT, StatusCode::InvalidArgument);
DIST_SAME(DIST_STATUS_UNAVAILABLE, StatusCode::Unavailable);
DIST_SAME(DIST_STATUS_INTERNAL, StatusCode::Internal);

} // namespace dist
