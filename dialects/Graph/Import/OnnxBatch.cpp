//===- OnnxBatch.cpp - A model of a fixed batch at another ----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model that was exported at a batch of one size has it in shapes, as a
// number. Which of a shape's dims grow with the batch follows from where the
// value that takes the shape holds its examples. That is found by an import at
// a batch of an unusual size (a prime that divides no dim of the file): what
// fits there fits for a reason, not because two sizes happen to be equal. On
// the way it is proved that no op lets examples meet that are apart in the
// file's model.
//
// At a batch of 1 a place may be open: of [6, 1, 8] made [6, 2, 4] the batch
// may go with the 6 or with the 2. And whether a shape of something new has the
// batch, or something else of that size, is told only by what it meets. The
// likely place is tried first, and others where the import then fails.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxModel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

using Dims = SmallVector<int64_t, 2>;

//===----------------------------------------------------------------------===//
// The batch in a shape
//===----------------------------------------------------------------------===//

/// Where the batch may be in `to`, a shape as it was exported, of a value that
/// has `unit` elements behind its examples: no dim of `to` may mix the batch's
/// stride with others.
static Dims findInReshape(ArrayRef<int64_t> to, int64_t unit, int64_t batch,
                          int64_t formerDim) {
  int64_t stride = 1, dim = to.size(), rank = to.size();
  while (dim > 0 && stride * to[dim - 1] <= unit)
    stride *= to[--dim];
  if (batch > 1 || stride != unit) {
    bool fits = dim > 0 && unit % stride == 0 &&
                stride * to[dim - 1] % (unit * batch) == 0;
    return fits ? Dims{dim - 1} : Dims();
  }
  // A batch of 1 between two dims: its own dim, if there is one.
  Dims own;
  for (int64_t d = dim; d < rank && to[d] == 1; ++d)
    own.insert(d == formerDim ? own.begin() : own.end(), d);
  if (!own.empty())
    return own;
  // Features that stay whole are those of a row, whose number grows; of
  // several dims (heads and their features) the first grows.
  Dims open;
  if (dim < rank)
    open.push_back(dim);
  if (dim > 0)
    open.insert(rank - dim == 1 ? open.begin() : open.end(), dim - 1);
  return open;
}

FailureOr<SmallVector<int64_t, 2>>
OnnxModel::listBatchDims(ShapeUse use, Value x, ArrayRef<int64_t> shape) {
  ArrayRef<ExampleDim> rows = tracker->find(x);
  int64_t rank = shape.size();
  auto exported = [&](int64_t size) { return size / batchTo * batchFrom; };
  if (use == ShapeUse::Make || rows.empty()) {
    Dims dims = {-1};
    for (int64_t d = 0; d < rank && rows.empty() && use != ShapeUse::Reshape;
         ++d)
      if (shape[d] == batchFrom)
        dims.push_back(d);
    return dims;
  }
  // A shape that the model computes has grown already.
  if (llvm::any_of(
          shape, [&](int64_t size) { return size > 0 && size % batchTo == 0; }))
    return Dims{-1};
  if (rows.size() > 1)
    return fail("its input holds the examples of the batch in several dims");
  ExampleDim row = rows.front();
  SmallVector<int64_t> from(shapeOf(x));
  from[row.dim] = exported(from[row.dim]);
  if (use == ShapeUse::Repeat) {
    int64_t dim = int64_t(row.dim) + rank - int64_t(from.size());
    bool grows = dim >= 0 && shape[dim] == from[row.dim];
    return Dims{grows ? dim : -1};
  }
  int64_t unit = row.inner, total = 1, given = 1, rest = -1;
  for (int64_t size : ArrayRef(from).drop_front(row.dim + 1))
    unit *= size;
  for (int64_t size : from)
    total *= size;
  SmallVector<int64_t> to(shape);
  bool copies = !intAttr("allowzero", 0);
  for (int64_t d = 0; d < rank; ++d) {
    if (to[d] == 0 && copies && d < int64_t(from.size()))
      to[d] = from[d];
    if (to[d] < 0)
      rest = d;
    else if (llvm::MulOverflow(given, to[d], given))
      return Dims{-1};
  }
  // The import says what is wrong with it.
  if (total == 0 || given == 0 || (rest < 0 ? given != total : total % given))
    return Dims{-1};
  if (rest >= 0)
    to[rest] = total / given;
  Dims dims = findInReshape(to, unit, batchFrom, row.dim);
  // What is copied or left over is the new size already, or stays the old one.
  for (int64_t d : dims)
    if (d == rest || (shape[d] == 0 && d == int64_t(row.dim)))
      return Dims{-1};
  llvm::erase_if(dims, [&](int64_t d) { return shape[d] <= 0; });
  if (dims.empty())
    return fail("the batch falls into no dim of its shape");
  return dims;
}

FailureOr<int64_t> OnnxModel::enterPlace(Dims dims) {
  const std::string &key = ::dist::keyOfOnnxNode(*proto);
  auto [place, isNew] = plan->places.try_emplace(key);
  if (isNew)
    plan->names.push_back(key);
  // An earlier node that took another place may have changed what there is.
  place->second.dims = std::move(dims);
  if (place->second.chosen >= place->second.dims.size())
    place->second.chosen = 0;
  return place->second.dims[place->second.chosen];
}

FailureOr<int64_t> OnnxModel::lookUpPlace(int64_t rank) {
  auto place = plan->places.find(::dist::keyOfOnnxNode(*proto));
  if (place == plan->places.end())
    return -1;
  int64_t dim = place->second.dims[place->second.chosen];
  return dim < rank ? dim : -1;
}

FailureOr<int64_t> OnnxModel::findBatchDim(ShapeUse use, Value x,
                                           ArrayRef<int64_t> shape) {
  if (!tracker)
    return lookUpPlace(shape.size());
  FailureOr<Dims> dims = listBatchDims(use, x, shape);
  if (failed(dims))
    return failure();
  FailureOr<int64_t> dim = enterPlace(*dims);
  // A shape of fewer dims is that of a result's last ones.
  if (tracker->find(x).empty() && succeeded(dim) && *dim >= 0)
    madeDim = *dim + (use == ShapeUse::Repeat
                          ? std::max<int64_t>(0, rankOf(x) - shape.size())
                          : 0);
  return dim;
}

FailureOr<int64_t> OnnxModel::findBatchDim(ArrayRef<Value> pieces,
                                           int64_t axis) {
  int64_t rank = rankOf(pieces.front());
  for (Value piece : pieces)
    if (rankOf(piece) != rank)
      return -1;
  if (!tracker)
    return lookUpPlace(rank);
  for (Value piece : pieces)
    for (const ExampleDim &row : tracker->find(piece))
      for (Value other : pieces)
        if (row.dim != axis && shapeOf(other)[row.dim] == 1)
          return enterPlace({int64_t(row.dim)});
  return -1;
}

//===----------------------------------------------------------------------===//
// The proof
//===----------------------------------------------------------------------===//

LogicalResult OnnxModel::followExamples(Operation *before) {
  Block &block = function.getBody().front();
  for (Operation *op = before ? before->getNextNode()
                              : (block.empty() ? nullptr : &block.front());
       op; op = op->getNextNode()) {
    auto isRead = [&](Value result) {
      return !result.use_empty() || llvm::is_contained(outputs, result);
    };
    auto holder = llvm::find_if(op->getOperands(), [&](Value operand) {
      return !tracker->find(operand).empty();
    });
    if (holder == op->operand_end() || llvm::none_of(op->getResults(), isRead))
      continue;
    bool meet = failed(tracker->visit(op)), lost = false;
    for (Value result : op->getResults())
      lost |= isRead(result) && tracker->find(result).empty();
    if (!meet && !lost)
      continue;
    // A mean of losses and batch statistics are of a batch by their nature; at
    // a batch of 1, other axes may only look as if they were of examples.
    bool combines = isa<BatchNormOp>(op) ||
                    llvm::all_of(op->getResultTypes(), [](Type type) {
                      return cast<RankedTensorType>(type).getNumElements() == 1;
                    });
    if (batchFrom > 1)
      combines |= meet && !isa<ReshapeOp, SliceOp, ConcatOp>(op);
    if (!combines)
      return fail("it would combine or choose among the examples of a batch");
    if (plan->combines.empty())
      plan->combines = ::dist::keyOfOnnxNode(*proto);
    for (Value result : op->getResults())
      if (result.getType() == (*holder).getType())
        for (ExampleDim row : llvm::to_vector(tracker->find(*holder)))
          (void)tracker->add(result, row); // it may have it already
  }
  if (madeDim >= 0 && outputs[0] && madeDim < rankOf(outputs[0]) &&
      shapeOf(outputs[0])[madeDim] % batchTo == 0)
    (void)tracker->add(outputs[0],
                       {unsigned(madeDim),
                        shapeOf(outputs[0])[madeDim] / batchTo}); // it is new
  std::set<unsigned> places;
  for (const std::string &input : proto->input())
    if (auto known = placesOf.find(input); known != placesOf.end())
      places.insert(known->second.begin(), known->second.end());
  if (auto own = plan->places.find(::dist::keyOfOnnxNode(*proto));
      own != plan->places.end() && own->second.dims.size() > 1)
    places.insert(llvm::find(plan->names, ::dist::keyOfOnnxNode(*proto)) -
                  plan->names.begin());
  if (!places.empty())
    for (const std::string &output : proto->output())
      placesOf[output] = places;
  return success();
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

bool OnnxModel::takeNextPlace() {
  std::set<unsigned> places;
  for (const std::string &name : failedReads)
    if (auto known = placesOf.find(name); known != placesOf.end())
      places.insert(known->second.begin(), known->second.end());
  if (failedNode)
    if (auto own = llvm::find(plan->names, ::dist::keyOfOnnxNode(*failedNode));
        own != plan->names.end())
      places.insert(own - plan->names.begin());
  for (unsigned number : llvm::reverse(places)) {
    BatchPlan::Place &place = plan->places[plan->names[number]];
    if (place.chosen + 1 < place.dims.size()) {
      ++place.chosen;
      // What failed with the earlier choice may be right with this one.
      for (unsigned later : places)
        if (later > number)
          plan->places[plan->names[later]].chosen = 0;
      return true;
    }
  }
  return false;
}

/// A prime that divides no dim of the model's inputs and initializers.
static int64_t
findUnusualSize(const onnx::GraphProto &graph,
                const llvm::StringMap<::dist::HostArray> &initializers) {
  auto divides = [&](int64_t prime) {
    for (const onnx::ValueInfoProto &input : graph.input())
      for (const auto &dim : input.type().tensor_type().shape().dim())
        if (dim.dim_value() > 0 && dim.dim_value() % prime == 0)
          return true;
    return llvm::any_of(initializers, [&](const auto &entry) {
      return llvm::any_of(entry.second.shape, [&](int64_t size) {
        return size > 0 && size % prime == 0;
      });
    });
  };
  for (int64_t prime : {139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193})
    if (!divides(prime))
      return prime;
  return 1009;
}

static constexpr int kMostAttempts = 32;

void OnnxModel::planBatch(StringRef bytes, std::shared_ptr<const void> owner) {
  if (!batchFrom)
    return;
  ImportOptions unusual = options;
  unusual.batchSize = findUnusualSize(model.graph(), initializers);
  // Each attempt is a whole import: as many as a person waits for.
  int attempts = 0;
  for (std::string first;;) {
    std::string text;
    ScopedDiagnosticHandler collect(getContext(), [&](Diagnostic &diagnostic) {
      if (text.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
        text = diagnostic.str();
      return success();
    });
    OnnxModel other(getContext(), path, folder, unusual);
    other.plan = plan;
    other.tracker = std::make_unique<RowTracker>(unusual.batchSize);
    plan->combines.clear();
    if (succeeded(other.load(bytes, owner)) && succeeded(other.import())) {
      if (!plan->combines.empty())
        notes.push_back("node '" + plan->combines +
                        "' combines the examples of a batch: at " +
                        std::to_string(batchTo) +
                        " it computes something else than at " +
                        std::to_string(batchFrom));
      return;
    }
    if (first.empty())
      first = text;
    if (++attempts == kMostAttempts || !other.takeNextPlace()) {
      planError = first;
      return;
    }
  }
}
