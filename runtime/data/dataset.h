//===- dataset.h - Examples for the inputs of a program -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files become columns, one an input or label of an entry: matched by name,
// checked against its shape and type, preprocessed when batches are made.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_DATA_DATASET_H
#define RUNTIME_DATA_DATASET_H

#include "runtime/formats/file.h"
#include "runtime/formats/stored_examples.h"
#include <map>

namespace dist {

struct DataOptions {
  /// `NAME=FILE,...`, a folder in a known form, or one file of named arrays.
  std::string spec;
  /// By input name (x and y name the first input and the label): numbers or
  /// fractions, one or one a channel; layouts NHWC or NCHW.
  std::map<std::string, std::string> scale, mean, std, layout;
  /// Of a folder with two parts: the test part.
  bool validation = false;
  /// The LABEL argument that is the examples' weights; empty: none. Where
  /// validation data have none, all weights are 1.
  std::string sampleWeights;
  /// Keeps examples as they enter the program, decoded once.
  bool cache = false;
  /// Of the data files. Mapped ones may be larger than the memory.
  FileAccess access = FileAccess::Read;
  /// Of several files those of this worker alone (see filesOfWorker).
  int worker = 0, workers = 1;
};

/// What one column goes through, in this order: scale, mean, std, layout.
struct Preprocessing {
  double scaleTop = 1, scaleBottom = 1; // value * top / bottom
  std::vector<double> mean, std;        // empty, one, or one a channel
  bool plain() const {
    return scaleTop == 1 && scaleBottom == 1 && mean.empty() && std.empty();
  }
};

/// Examples of one argument of an entry.
struct Column {
  std::string name;
  HostArray array; // as read; dim 0 counts examples
  /// Of data that `array` has not: they are decoded when they are needed.
  /// Example i is number `firstStored` + i there.
  std::shared_ptr<const StoredExamples> stored;
  int64_t firstStored = 0;
  DataType type;                     // the argument's
  std::vector<int64_t> exampleShape; // the argument's, without the batch dim
  Preprocessing preprocessing;
  /// Channels-last data for a channels-first input: [plane, channels] of each
  /// example is written as [channels, plane]; negative planes: the reverse.
  int64_t channels = 0, plane = 0;
  bool transposed = false, toChannelsLast = false;
  /// Where the channel of an element is found, for per-channel numbers.
  int64_t channelCount = 1, channelStride = 1;
  bool label = false;
  bool soleLabel = false; // also called y and label

  int64_t exampleElements() const { return elementCount(exampleShape); }
  size_t exampleBytes() const {
    return byteSize(type) * size_t(exampleElements());
  }
  /// Batches in file order can point into the file.
  bool direct() const;
  /// The examples of `indices` one after the other as they were read, which is
  /// written to where they are stored.
  void readStored(const int64_t *indices, int64_t count,
                  std::string *out) const;
  /// Writes the examples of `indices` one after the other.
  void gather(const int64_t *indices, int64_t count, char *out) const;
};

class Dataset {
public:
  /// Reads the files for the INPUT and LABEL arguments of an entry. Labels out
  /// of range, shapes and types that do not fit are errors here, not in a step.
  static Status open(const DataOptions &options, const manifest::Entry &entry,
                     std::unique_ptr<Dataset> *out);
  /// The same of arrays in memory, one for each of these arguments in order.
  static Status ofArrays(std::vector<HostArray> arrays,
                         const manifest::Entry &entry,
                         std::unique_ptr<Dataset> *out);
  /// Random data of the arguments' shapes, for benchmarks.
  static std::unique_ptr<Dataset> random(const manifest::Entry &entry,
                                         int64_t examples, uint64_t seed);

  /// Cuts the last part off, as Keras' validation_split does: n examples keep
  /// the first floor(n (1 - fraction)). An error where a part has none.
  Status split(double fraction, std::unique_ptr<Dataset> *rest);

  int64_t examples() const { return count; }
  /// Whether the examples have weights of 1 because the data have none.
  bool countsAlike() const { return alike; }
  /// One a data argument, in the order of the entry's arguments.
  const std::vector<Column> &columns() const { return table; }

  /// The first example, of `indices`, that holds a NaN or infinity; -1: none.
  int64_t findNonfinite(size_t column,
                        const std::vector<int64_t> &indices) const;

private:
  /// A column, of which the array is there: as long as those before it.
  Status add(Column column, const DataOptions &options,
             const manifest::Binding &binding, bool first);

  int64_t count = 0;
  bool alike = false;
  std::vector<Column> table;
};

} // namespace dist

#endif // RUNTIME_DATA_DATASET_H
