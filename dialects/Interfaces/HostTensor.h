//===- HostTensor.h - A tensor value on the host -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The value type of the reference evaluator. Floats are held as double and
// rounded to the element type on every write, integers as int64_t and wrapped
// to the width on every write, so that one set of loops serves every type.
//
//===----------------------------------------------------------------------===//
#ifndef DIALECTS_INTERFACES_HOSTTENSOR_H
#define DIALECTS_INTERFACES_HOSTTENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <memory>
#include <vector>

namespace mlir::dist {

/// A dense, row-major tensor of static shape. Copies share the elements;
/// writing through a shared copy detaches it.
class HostTensor {
public:
  HostTensor() = default;
  /// All elements zero.
  explicit HostTensor(RankedTensorType type);

  explicit operator bool() const { return static_cast<bool>(type); }
  RankedTensorType getType() const { return type; }
  ArrayRef<int64_t> getShape() const { return type.getShape(); }
  int64_t getNumElements() const { return type.getNumElements(); }
  bool isFloat() const { return floating; }
  /// Whether integers are compared and divided as unsigned (ui8..ui64, i1).
  bool isUnsigned() const { return unsignedInts; }

  /// Element at a row-major position, as a number; integers are converted.
  double getDouble(int64_t i) const {
    return isFloat() ? floats()[i] : integerToDouble(ints()[i]);
  }
  /// Integer element (u64 as its bits); for floats, the value truncated; beyond
  /// i64's range the nearest, and 0 for NaN.
  int64_t getInt(int64_t i) const {
    return isFloat() ? truncate(floats()[i]) : ints()[i];
  }
  /// Writes with rounding to f16/bf16/f32 or wrapping to the integer width. A
  /// double written to an integer tensor truncates towards zero.
  void setDouble(int64_t i, double v);
  void setInt(int64_t i, int64_t v);

  /// All elements of a float tensor; and of an integer one. What is written
  /// this way has to be brought to the element type by `adjust`.
  ArrayRef<double> getFloats() const { return data->f; }
  ArrayRef<int64_t> getInts() const { return data->i; }
  MutableArrayRef<double> writeFloats() { return writable().f; }
  MutableArrayRef<int64_t> writeInts() { return writable().i; }
  /// Rounds (or wraps) elements [begin, end) to the element type. Threads may
  /// do so at the same time, each its own part of a tensor that has no copies.
  void adjust(int64_t begin, int64_t end);

  /// Row-major position of an index, and back.
  int64_t linearize(ArrayRef<int64_t> index) const;
  SmallVector<int64_t> delinearize(int64_t position) const;

  /// The elements in the type's own representation (i1 as one byte), as in a
  /// `dense_resource` blob; and the reverse. Fails on a wrong byte count.
  std::vector<char> toBytes() const;
  static FailureOr<HostTensor> fromBytes(RankedTensorType type,
                                         ArrayRef<char> bytes);
  /// From `dense` and `dense_resource` attributes; fails on others.
  static FailureOr<HostTensor> fromAttribute(ElementsAttr attribute);
  /// A `dense` attribute (small tensors, tests).
  DenseElementsAttr toAttribute() const;

private:
  static int64_t truncate(double v);
  const std::vector<double> &floats() const { return data->f; }
  const std::vector<int64_t> &ints() const { return data->i; }
  double integerToDouble(int64_t v) const;
  struct Data {
    std::vector<double> f;
    std::vector<int64_t> i;
  };
  Data &writable();
  /// How floats are rounded on every write; what ExactFloats said when the
  /// tensor was made holds for all of its life, on every thread.
  enum class Rounding : uint8_t { None, F32, ByType };
  RankedTensorType type;
  // What the type says, which is asked for at every element.
  bool floating = false, unsignedInts = false;
  Rounding rounding = Rounding::None;
  std::shared_ptr<Data> data;
};

/// Rounds to the nearest value of a float type (or not at all while an
/// ExactFloats is alive on this thread).
double roundToType(double v, FloatType type);

/// While alive, float tensors that the calling thread makes keep double
/// precision whatever their type: two programs that compute the same in another
/// order then agree to about 1e-13, and a wrong one stands out.
class ExactFloats {
public:
  ExactFloats();
  ~ExactFloats();
  ExactFloats(const ExactFloats &) = delete;
  ExactFloats &operator=(const ExactFloats &) = delete;

private:
  bool before;
};
/// Wraps to the width, sign-extended unless unsigned or i1.
int64_t wrapToType(int64_t v, IntegerType type);

/// Calls `fn` with every index of `shape` in row-major order.
void forEachIndex(ArrayRef<int64_t> shape,
                  llvm::function_ref<void(ArrayRef<int64_t>)> fn);

} // namespace mlir::dist

#endif // DIALECTS_INTERFACES_HOSTTENSOR_H
