//===- TensorFlowControl.cpp - Control flow of TensorFlow ---------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/TensorFlowNode.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

using Node = TensorFlowNode;

/// Each round of a loop is written out.
static constexpr unsigned kMostRounds = 1 << 16;

static LogicalResult giveAll(Node &n, FailureOr<TensorFlowItems> items) {
  if (failed(items))
    return failure();
  for (auto [i, item] : llvm::enumerate(*items))
    (void)n.give(i, item);
  return success();
}

static FailureOr<StringRef> functionOf(Node &n, StringRef name) {
  const tensorflow::AttrValue *value = n.attribute(name);
  if (!value || !value->has_func())
    return n.fail("attribute '" + name + "' is missing, or no function");
  return StringRef(value->func().name());
}

static LogicalResult importCall(Node &n) {
  FailureOr<StringRef> function = functionOf(n, "f");
  if (failed(function))
    return failure();
  return giveAll(n, n.call(*function, n.allItems()));
}

/// Whether a value that is known is not 0; `what` names it.
static FailureOr<bool> isTrue(Node &n, Value value, StringRef what) {
  if (!value)
    return n.fail(what + " is no number");
  BlockArgument argument;
  FailureOr<HostTensor> known = n.evaluate(value, &argument);
  if (failed(known))
    return n.fail(what + " depends on the model's inputs or variables, and is "
                         "not known when the model is compiled",
                  "write the model without it, as with tf.where");
  if (known->getNumElements() != 1)
    return n.fail(what + " is not one number");
  return known->isFloat() ? known->getDouble(0) != 0 : known->getInt(0) != 0;
}

static LogicalResult importIf(Node &n) {
  FailureOr<bool> condition = isTrue(n, n.in(0), "its condition");
  if (failed(condition))
    return failure();
  FailureOr<StringRef> function =
      functionOf(n, *condition ? "then_branch" : "else_branch");
  if (failed(function))
    return failure();
  return giveAll(n, n.call(*function, n.allItems().drop_front()));
}

static LogicalResult importCase(Node &n) {
  FailureOr<SmallVector<int64_t>> index = n.numbers(0);
  if (failed(index))
    return failure();
  const tensorflow::AttrValue *branches = n.attribute("branches");
  int count = branches ? branches->list().func_size() : 0;
  if (index->size() != 1 || count == 0)
    return n.fail("it has no index or no branches");
  // Out of range is the last one.
  int64_t taken = index->front();
  if (taken < 0 || taken >= count)
    taken = count - 1;
  return giveAll(n, n.call(branches->list().func(int(taken)).name(),
                           n.allItems().drop_front()));
}

static LogicalResult importWhile(Node &n) {
  FailureOr<StringRef> condition = functionOf(n, "cond"),
                       body = functionOf(n, "body");
  if (failed(condition) || failed(body))
    return failure();
  TensorFlowItems state(n.allItems());
  for (unsigned round = 0;; ++round) {
    FailureOr<TensorFlowItems> asked = n.call(*condition, state);
    if (failed(asked))
      return failure();
    if (asked->size() != 1)
      return n.fail("its condition is not one value");
    FailureOr<bool> goesOn =
        isTrue(n, asked->front().value, "its number of rounds");
    if (failed(goesOn))
      return failure();
    if (!*goesOn)
      return giveAll(n, state);
    if (round >= kMostRounds)
      return n.fail("it has more than " + llvm::Twine(kMostRounds) +
                        " rounds, each of which is written out",
                    "save the model for shorter sequences");
    FailureOr<TensorFlowItems> next = n.call(*body, state);
    if (failed(next))
      return failure();
    if (next->size() != state.size())
      return n.fail("its body does not give what it takes");
    state = std::move(*next);
  }
}

//===----------------------------------------------------------------------===//
// Lists of tensors
//===----------------------------------------------------------------------===//

using List = SmallVector<Value>;

static LogicalResult giveList(Node &n, List list) {
  TensorFlowItem item;
  item.list = std::make_shared<const List>(std::move(list));
  return n.give(0, item);
}
static FailureOr<List> listOf(Node &n) {
  if (!n.item(0).list)
    return n.fail("its input is no list");
  return *n.item(0).list;
}
static FailureOr<int64_t> oneOf(Node &n, unsigned i, int64_t below) {
  FailureOr<SmallVector<int64_t>> values = n.numbers(i);
  if (failed(values))
    return failure();
  if (values->size() != 1 || values->front() < 0 || values->front() >= below)
    return n.fail("input " + llvm::Twine(i) + " is out of range");
  return values->front();
}

static LogicalResult importReserve(Node &n) {
  FailureOr<int64_t> count = oneOf(n, 1, kMostRounds);
  return failed(count) ? failure() : giveList(n, List(*count));
}
static LogicalResult importEmptyList(Node &n) { return giveList(n, {}); }

static LogicalResult importFromTensor(Node &n) {
  Value x = n.in(0);
  if (n.rankOf(x) < 1 || n.shapeOf(x)[0] > kMostRounds)
    return n.fail("its input is a scalar, or too long");
  List list;
  for (int64_t i = 0; i < n.shapeOf(x)[0]; ++i)
    list.push_back(
        n.reshape(n.sliceDim(x, 0, i, i + 1), n.shapeOf(x).drop_front()));
  if (llvm::is_contained(list, Value()))
    return failure();
  return giveList(n, list);
}

static LogicalResult importSetItem(Node &n) {
  FailureOr<List> list = listOf(n);
  if (failed(list))
    return failure();
  bool grows = n.getBool("resize_if_index_out_of_bounds", false);
  FailureOr<int64_t> at =
      oneOf(n, 1, grows ? kMostRounds : int64_t(list->size()));
  if (failed(at))
    return failure();
  if (size_t(*at) >= list->size())
    list->resize(*at + 1);
  (*list)[*at] = n.in(2);
  return giveList(n, std::move(*list));
}
static LogicalResult importPushBack(Node &n) {
  FailureOr<List> list = listOf(n);
  if (failed(list))
    return failure();
  if (list->size() >= kMostRounds)
    return n.fail("the list is too long");
  list->push_back(n.in(1));
  return giveList(n, std::move(*list));
}

/// The shape that an item never set has: what its reader says, or that of the
/// others.
static FailureOr<Value> unsetItem(Node &n, unsigned shapeInput,
                                  ArrayRef<Value> others) {
  for (Value other : others)
    if (other)
      return n.splat(0, other);
  FailureOr<SmallVector<int64_t>> shape = n.numbers(shapeInput);
  Type type = n.getType("element_dtype");
  if (failed(shape) || !type)
    return failure();
  if (!isSaneShape(*shape) ||
      llvm::any_of(*shape, [](int64_t d) { return d < 0; }))
    return n.fail("it reads an item that was not set");
  return n.zeros(*shape, type);
}

static LogicalResult importGetItem(Node &n) {
  FailureOr<List> list = listOf(n);
  if (failed(list))
    return failure();
  FailureOr<int64_t> at = oneOf(n, 1, list->size());
  if (failed(at))
    return failure();
  if ((*list)[*at])
    return n.result((*list)[*at]);
  FailureOr<Value> unset = unsetItem(n, 2, *list);
  return failed(unset) ? failure() : n.result(*unset);
}

static LogicalResult importStack(Node &n) {
  FailureOr<List> list = listOf(n);
  if (failed(list))
    return failure();
  if (list->empty())
    return n.fail("the list is empty");
  Value unset;
  SmallVector<Value> rows;
  SmallVector<int64_t> shape;
  for (Value item : *list) {
    if (!item && !unset) {
      FailureOr<Value> made = unsetItem(n, 1, *list);
      if (failed(made))
        return failure();
      unset = *made;
    }
    item = item ? item : unset;
    shape.assign(1, 1);
    shape.append(n.shapeOf(item).begin(), n.shapeOf(item).end());
    rows.push_back(n.reshape(item, shape));
  }
  return n.result(n.concat(rows, 0));
}

static LogicalResult importLength(Node &n) {
  FailureOr<List> list = listOf(n);
  if (failed(list))
    return failure();
  return n.result(
      n.intScalar(list->size(), IntegerType::get(n.getContext(), 32)));
}

ArrayRef<TensorFlowOp> mlir::dist::graph::getTensorFlowControlOps() {
  static const TensorFlowOp rows[] = {
      {"PartitionedCall", importCall, 0},
      {"StatefulPartitionedCall", importCall, 0},
      {"If", importIf},
      {"StatelessIf", importIf},
      {"Case", importCase},
      {"StatelessCase", importCase},
      {"While", importWhile},
      {"StatelessWhile", importWhile},
      {"TensorListReserve", importReserve, 2},
      {"EmptyTensorList", importEmptyList, 0},
      {"TensorListFromTensor", importFromTensor, 2},
      {"TensorListSetItem", importSetItem, 3},
      {"TensorListPushBack", importPushBack, 2},
      {"TensorListGetItem", importGetItem, 3},
      {"TensorListStack", importStack, 2},
      {"TensorListLength", importLength},
  };
  return rows;
}
