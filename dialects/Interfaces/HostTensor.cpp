//===- HostTensor.cpp - A tensor value on the host -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/HostTensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mlir::dist;

static thread_local bool exactFloats = false;

ExactFloats::ExactFloats() : before(exactFloats) { exactFloats = true; }
ExactFloats::~ExactFloats() { exactFloats = before; }

static double roundAlways(double v, FloatType type) {
  llvm::APFloat value(v);
  bool lossy;
  value.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                &lossy);
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &lossy);
  return value.convertToDouble();
}

double mlir::dist::roundToType(double v, FloatType type) {
  if (type.isF64() || exactFloats)
    return v;
  return type.isF32() ? static_cast<float>(v) : roundAlways(v, type);
}

/// What graph.convert makes of a float: the integer nearest to `v` towards zero
/// that the width has, as its bits if unsigned; 0 of NaN.
static int64_t saturate(double v, unsigned width, bool isUnsigned) {
  if (std::isnan(v))
    return 0;
  unsigned bits = isUnsigned ? width : width - 1;
  uint64_t most = ~uint64_t(0) >> (64 - bits);
  if (v >= std::ldexp(1.0, bits))
    return static_cast<int64_t>(most);
  if (isUnsigned)
    return v <= 0 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(v));
  // Not its negation: the least integer has none.
  return v < -std::ldexp(1.0, bits) ? -static_cast<int64_t>(most) - 1
                                    : static_cast<int64_t>(v);
}

int64_t HostTensor::truncate(double v) {
  return saturate(v, 64, /*isUnsigned=*/false);
}

int64_t mlir::dist::wrapToType(int64_t v, IntegerType type) {
  unsigned width = type.getWidth();
  if (width >= 64)
    return v;
  uint64_t mask = (uint64_t(1) << width) - 1, bits = uint64_t(v) & mask;
  bool isUnsigned = type.isUnsigned() || width == 1;
  if (!isUnsigned && (bits >> (width - 1)))
    bits |= ~mask;
  return static_cast<int64_t>(bits);
}

void mlir::dist::forEachIndex(ArrayRef<int64_t> shape,
                              llvm::function_ref<void(ArrayRef<int64_t>)> fn) {
  for (int64_t size : shape)
    if (size == 0)
      return;
  SmallVector<int64_t> index(shape.size(), 0);
  while (true) {
    fn(index);
    int64_t dim = static_cast<int64_t>(shape.size()) - 1;
    for (; dim >= 0; --dim) {
      if (++index[dim] < shape[dim])
        break;
      index[dim] = 0;
    }
    if (dim < 0)
      return;
  }
}

HostTensor::HostTensor(RankedTensorType type)
    : type(type), data(std::make_shared<Data>()) {
  Type element = type.getElementType();
  floating = isa<FloatType>(element);
  if (floating) {
    if (element.isF32())
      rounding = Rounding::F32;
    else if (!element.isF64())
      rounding = Rounding::ByType;
    if (exactFloats)
      rounding = Rounding::None;
    data->f.resize(type.getNumElements());
    return;
  }
  if (auto integer = dyn_cast<IntegerType>(element))
    unsignedInts = integer.isUnsigned() || integer.getWidth() == 1;
  data->i.resize(type.getNumElements());
}

double HostTensor::integerToDouble(int64_t v) const {
  return isUnsigned() ? static_cast<double>(static_cast<uint64_t>(v))
                      : static_cast<double>(v);
}

HostTensor::Data &HostTensor::writable() {
  if (data.use_count() != 1)
    data = std::make_shared<Data>(*data);
  return *data;
}

void HostTensor::setDouble(int64_t i, double v) {
  if (isFloat()) {
    writable().f[i] = v;
    return adjust(i, i + 1);
  }
  auto integer = cast<IntegerType>(type.getElementType());
  setInt(i, integer.getWidth() == 1
                ? v != 0
                : saturate(v, integer.getWidth(), integer.isUnsigned()));
}

void HostTensor::adjust(int64_t begin, int64_t end) {
  if (!floating) {
    auto integer = cast<IntegerType>(type.getElementType());
    if (unsigned unused = 64 - std::min(integer.getWidth(), 64u)) {
      // Shifted to the left end and back, with the sign or without.
      for (int64_t i = begin; i < end; ++i) {
        uint64_t bits = uint64_t(data->i[i]) << unused;
        data->i[i] =
            unsignedInts ? int64_t(bits >> unused) : int64_t(bits) >> unused;
      }
    }
    return;
  }
  if (rounding == Rounding::F32) {
    for (int64_t i = begin; i < end; ++i)
      data->f[i] = static_cast<float>(data->f[i]);
  } else if (rounding == Rounding::ByType) {
    auto floatType = cast<FloatType>(type.getElementType());
    for (int64_t i = begin; i < end; ++i)
      data->f[i] = roundAlways(data->f[i], floatType);
  }
}

void HostTensor::setInt(int64_t i, int64_t v) {
  if (isFloat())
    return setDouble(i, static_cast<double>(v));
  writable().i[i] = wrapToType(v, cast<IntegerType>(type.getElementType()));
}

int64_t HostTensor::linearize(ArrayRef<int64_t> index) const {
  int64_t position = 0;
  for (auto [i, size] : llvm::zip(index, getShape()))
    position = position * size + i;
  return position;
}

SmallVector<int64_t> HostTensor::delinearize(int64_t position) const {
  SmallVector<int64_t> index(getShape().size());
  for (int64_t dim = index.size() - 1; dim >= 0; --dim) {
    index[dim] = position % getShape()[dim];
    position /= getShape()[dim];
  }
  return index;
}

std::vector<char> HostTensor::toBytes() const {
  unsigned width = type.getElementType().getIntOrFloatBitWidth();
  unsigned bytes = (width + 7) / 8;
  std::vector<char> out(getNumElements() * bytes);
  if (type.getElementType().isF32()) {
    std::vector<float> narrow(floats().begin(), floats().end());
    std::memcpy(out.data(), narrow.data(), out.size());
    return out;
  }
  for (int64_t i = 0, e = getNumElements(); i < e; ++i) {
    uint64_t bits;
    if (auto floatType = dyn_cast<FloatType>(type.getElementType())) {
      llvm::APFloat value(floats()[i]);
      bool lossy;
      value.convert(floatType.getFloatSemantics(),
                    llvm::APFloat::rmNearestTiesToEven, &lossy);
      bits = value.bitcastToAPInt().getZExtValue();
    } else {
      bits = static_cast<uint64_t>(ints()[i]);
    }
    std::memcpy(out.data() + i * bytes, &bits, bytes);
  }
  return out;
}

FailureOr<HostTensor> HostTensor::fromBytes(RankedTensorType type,
                                            ArrayRef<char> bytes) {
  unsigned width = type.getElementType().getIntOrFloatBitWidth();
  unsigned size = (width + 7) / 8;
  if (static_cast<int64_t>(bytes.size()) != type.getNumElements() * size)
    return failure();
  HostTensor tensor(type);
  if (bytes.empty()) // at no address
    return tensor;
  Data &data = tensor.writable();
  if (type.getElementType().isF32()) {
    std::vector<float> narrow(type.getNumElements());
    std::memcpy(narrow.data(), bytes.data(), bytes.size());
    data.f.assign(narrow.begin(), narrow.end());
    return tensor;
  }
  for (int64_t i = 0, e = type.getNumElements(); i < e; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, size);
    if (auto floatType = dyn_cast<FloatType>(type.getElementType())) {
      llvm::APFloat value(floatType.getFloatSemantics(),
                          llvm::APInt(width, bits));
      bool lossy;
      value.convert(llvm::APFloat::IEEEdouble(),
                    llvm::APFloat::rmNearestTiesToEven, &lossy);
      data.f[i] = value.convertToDouble();
    } else {
      data.i[i] = wrapToType(static_cast<int64_t>(bits),
                             cast<IntegerType>(type.getElementType()));
    }
  }
  return tensor;
}

FailureOr<HostTensor> HostTensor::fromAttribute(ElementsAttr attribute) {
  auto type = dyn_cast<RankedTensorType>(attribute.getType());
  if (!type)
    return failure();
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attribute)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return failure();
    return fromBytes(type, blob->getData());
  }
  auto dense = dyn_cast<DenseElementsAttr>(attribute);
  if (!dense)
    return failure();
  HostTensor tensor(type);
  int64_t i = 0;
  if (dense.isSplat() && type.getNumElements() > 1) {
    auto one = RankedTensorType::get({}, type.getElementType());
    auto value = fromAttribute(dense.resizeSplat(one));
    if (failed(value))
      return failure();
    if (tensor.isFloat())
      llvm::fill(tensor.writeFloats(), value->getFloats().front());
    else
      llvm::fill(tensor.writeInts(), value->getInts().front());
    return tensor;
  }
  if (type.getElementType().isF32()) {
    auto values = dense.getValues<float>();
    llvm::copy(values, tensor.writeFloats().begin());
    return tensor;
  }
  if (tensor.isFloat()) {
    for (llvm::APFloat value : dense.getValues<llvm::APFloat>()) {
      bool lossy;
      value.convert(llvm::APFloat::IEEEdouble(),
                    llvm::APFloat::rmNearestTiesToEven, &lossy);
      tensor.setDouble(i++, value.convertToDouble());
    }
  } else {
    for (const llvm::APInt &value : dense.getValues<llvm::APInt>())
      tensor.setInt(i++, static_cast<int64_t>(value.getZExtValue()));
  }
  return tensor;
}

DenseElementsAttr HostTensor::toAttribute() const {
  SmallVector<Attribute> values;
  for (int64_t i = 0, e = getNumElements(); i < e; ++i) {
    Type element = type.getElementType();
    if (isFloat())
      values.push_back(FloatAttr::get(element, floats()[i]));
    else
      values.push_back(IntegerAttr::get(
          element, llvm::APInt(cast<IntegerType>(element).getWidth(),
                               static_cast<uint64_t>(ints()[i]), false, true)));
  }
  return DenseElementsAttr::get(type, values);
}
