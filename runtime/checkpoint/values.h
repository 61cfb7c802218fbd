//===- values.h - The variables of a saved state -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The safetensors files of a state's folder, one a process that saved it. What
// is in memory of them at a time is at most a variable.
//
// The model's own variables must fit the program that goes on; what training
// keeps beside them (slots, metrics, sums, compression) begins anew where the
// program has other ones.
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CHECKPOINT_VALUES_H
#define RUNTIME_CHECKPOINT_VALUES_H

#include "runtime/checkpoint/index.h"
#include "runtime/checkpoint/state.h"
#include "runtime/core/session.h"
#include "runtime/core/slices.h"
#include "runtime/formats/safetensors.h"

namespace dist {

/// Whether a group of variables is the model's own; all else belongs to the way
/// it is trained.
bool isOfModel(const std::string &group);

/// Whether a variable's ranks hold different things: saved by rank, so that
/// resuming on the same mesh goes on with the same bits, and reduced for all
/// others.
bool isSavedBySlice(const manifest::Variable &variable);
/// Whether it is saved at all.
bool isSaved(const manifest::Variable &variable);

/// What a program says of itself in a state's header.
void describe(const manifest::Manifest &manifest, StateHeader *header);

/// What one process writes of a state: of what its ranks hold, the parts of
/// which one of them has the first copy; process 0 the best values, too.
class ValuesFile {
public:
  Status plan(Session &session, const TrainingState &state);
  /// Instead, all that this process knows of the state, so that it needs no
  /// other: every part that one of its ranks holds, and of variables whose
  /// ranks hold different things the value that they are read as. To read these
  /// all processes call `copy` together.
  Status planHeld(Session &session, const TrainingState &state);
  /// Takes now what `write` would take from the session, which may go on then.
  /// `memory` must outlive it; its buffers are used again.
  Status copy(std::vector<Tensor> *memory);
  /// Through the disk's cache; `out`: its entry of the index. Again, elsewhere,
  /// where it has failed.
  Status write(const std::string &folder, SavedFile *out);

private:
  struct Part {
    SavedPart entry;
    DataType type;
    std::vector<int64_t> shape;
    std::function<Status(Tensor *out)> make;
    const Tensor *copied = nullptr; // instead, once it was
  };
  void addBox(Session &session, int variable, const Distribution &whole,
              const std::vector<int> &ranks);
  void addSlice(Session &session, int variable, const Distribution &whole,
                int rank);
  void addValue(Session &session, int variable);
  void addBest(const TrainingState &state);

  std::string name;
  std::vector<Part> parts;
  /// For slices that are put together: one memory for all variables.
  std::shared_ptr<Tensor> scratch = std::make_shared<Tensor>();
};

/// The files of a state, to read from.
class SavedValues {
public:
  /// Compares sizes and headers with the index, of states from before there was
  /// one the checksum of their file. `damaged` as in `readHeader`.
  static Status open(const std::string &folder, const StateHeader &header,
                     std::unique_ptr<SavedValues> *out, bool *damaged);

  /// Names of all that has a box or a slice.
  std::vector<std::string> variables() const;
  /// A variable's parts of a kind. Of one from before there was an index, the
  /// box of what is reduced when read is the reduced value.
  std::vector<const SavedPart *> find(const std::string &variable,
                                      SavedPart::Kind kind) const;
  /// Whether values of the best epoch stand beside the variables.
  bool hasBest() const;
  /// Type and shape of a part as it lies in the file.
  const TensorView &viewOf(const SavedPart &part) const;
  /// Compares a part's checksum.
  Status check(const SavedPart &part, bool *damaged) const;
  Status read(const SavedPart &part, Tensor *out) const;

private:
  Status openReader(const std::string &name,
                    std::unique_ptr<SafetensorsReader> *out,
                    bool *damaged) const;
  Status openFile(const SavedFile &file, bool *damaged);
  Status indexOldFile(uint32_t crc, bool *damaged);
  Status wrong(const std::string &why) const;

  std::string folder;
  std::vector<SavedFile> files;
  std::vector<std::unique_ptr<SafetensorsReader>> readers;     // of the files
  std::map<std::string, std::vector<const SavedPart *>> parts; // by variable
  std::map<const SavedPart *, const SafetensorsReader *> readerOf;
  bool checkedWhole = false; // as one file
};

/// What of a state a session is given.
enum class Restores {
  All,
  /// The model's own variables: for who evaluates, and goes on with nothing.
  Model
};

/// Takes a session's ranks of this process to a saved state.
class Restorer {
public:
  /// All must outlive it.
  Restorer(const std::string &folder, const StateHeader &header,
           const SavedValues &values, Session &session,
           Restores what = Restores::All);

  /// Compares the checksums of what `run` reads, and the models. An error that
  /// is no damage: the state does not fit.
  Status check(bool *damaged);
  /// Gives the session the values. `notes` tells what begins anew.
  Status run(TrainingState *state, std::vector<std::string> *notes);

private:
  Status checkModel() const;
  Status checkComplete(const manifest::Variable &variable,
                       const std::vector<const SavedPart *> &boxes,
                       bool *damaged) const;
  bool findsAnotherOptimizer() const;
  int64_t accumulateBefore() const;
  bool isRestored(const manifest::Variable &variable) const;
  std::vector<const SavedPart *> partsToRead(int index) const;
  const SavedPart *sliceOf(int index, int rank) const;
  bool restoresSlices(int index) const;
  Status restore(int index, bool *fits);
  Status restoreBoxes(int index);
  Status reduceSlices(int index, Tensor *out) const;
  Status readWhole(int index, Tensor *out) const;
  Status readBest(TrainingState *state) const;
  std::vector<const SavedPart *> bestParts() const;
  void tellOfAccumulation(TrainingState *state,
                          std::vector<std::string> *notes) const;
  void tellOfTheRest(std::vector<std::string> *notes) const;
  Status misfit(const std::string &name, const std::string &why) const;

  const std::string &folder;
  const StateHeader &header;
  const SavedValues &values;
  Session &session;
  const Restores what;
  const manifest::Manifest &manifest;
  std::vector<Distribution> distributions; // by variable
  bool anotherOptimizer = false, anotherAccumulation = false;
  /// Variables that begin anew, by group.
  std::map<std::string, std::vector<std::string>> anew;
};

} // namespace dist

#endif // RUNTIME_CHECKPOINT_VALUES_H
