//===- table.h - Options as rows of a table -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_OPTIONS_TABLE_H
#define TOOLS_OPTIONS_TABLE_H

#include "tools/options/help.h"
#include "tools/options/options.h"
#include "tools/options/values.h"
#include <functional>
#include <limits>
#include <memory>

namespace CLI {
class App;
} // namespace CLI

namespace dist::tools {

using Setter = std::function<Status(const std::string &)>;

/// The table under construction: CLI11, which table.cpp alone includes, splits
/// the words; values go through our own parsers, whose messages name option and
/// remedy.
class Table {
public:
  Table(Tool tool, Options &options);
  ~Table();

  /// What the next rows are about, and whether dist-opt is handed them.
  void group(std::string title, bool compile) {
    currentGroup = std::move(title);
    compiled = compile;
    commands.clear();
    explaining.clear();
  }
  /// The commands of dist-run that read the next rows; all that have a model,
  /// until this is called. Others refuse them: what is not read would be
  /// without a word. Those of `explaining` do so themselves, as they have more
  /// to say.
  void usedBy(std::string names, std::string explainingNames = "") {
    commands = std::move(names);
    explaining = std::move(explainingNames);
  }
  /// What the row before this says is read beside `other` alone. `why`: what is
  /// without that, whose `form` is what to add.
  void needs(const std::string &other, const std::string &form,
             const std::string &why);
  /// Whether an option may be given more than once.
  enum class Times { Once, Many };

  void value(const std::string &name, const std::string &form,
             const std::string &help, Setter set, Times times = Times::Once);
  void flag(const std::string &name, const std::string &help, bool *target);

  void text(const std::string &name, const std::string &form,
            const std::string &help, std::string *target) {
    value(name, form, help, [=](const std::string &given) {
      if (given.empty())
        return wrongValue(longName(name), "the value is empty", "see --help");
      *target = given;
      return Status();
    });
  }
  void choice(const std::string &name, const std::vector<std::string> &known,
              const std::string &help, std::string *target) {
    std::string form;
    for (const std::string &word : known)
      form += (form.empty() ? "" : "|") + word;
    value(name, form, help, [=](const std::string &given) {
      *target = given;
      return parseChoice(longName(name), given, known);
    });
  }
  template <typename Integer>
  void integer(const std::string &name, const std::string &help, int64_t least,
               Integer *target,
               int64_t most = std::numeric_limits<Integer>::max()) {
    value(name, "N", help, [=](const std::string &given) {
      int64_t parsed = 0;
      DIST_RETURN_IF_ERROR(parseInteger(longName(name), given, least, &parsed));
      if (parsed > most)
        return wrongValue(longName(name), given + " is too large",
                          "give at most " + std::to_string(most));
      *target = Integer(parsed);
      return Status();
    });
  }
  void number(const std::string &name, const std::string &help, bool positive,
              std::function<void(double)> store) {
    value(name, "X", help, [=](const std::string &given) {
      double parsed = 0;
      DIST_RETURN_IF_ERROR(
          parseNumber(longName(name), given, 0, positive, &parsed));
      store(parsed);
      return Status();
    });
  }
  void named(const std::string &name, const std::string &form,
             const std::string &help, NamedValues *target) {
    value(
        name, form, help,
        [=](const std::string &given) {
          DIST_RETURN_IF_ERROR(parseNamed(longName(name), given, target));
          for (size_t i = 0; i + 1 < target->size(); ++i)
            if ((*target)[i].first == target->back().first)
              return givenTwice(longName(name) + " " + target->back().first,
                                (*target)[i].second, target->back().second);
          return Status();
        },
        Times::Many);
  }

  const std::vector<HelpRow> &help() const { return helpRows; }
  std::vector<std::string> names() const;

  /// What was asked for instead of a run.
  enum class Asked { Nothing, Help, Version };
  /// Finds whose the words are, the positional ones among them, which are set.
  Status parse(std::vector<std::string> words, Asked *asked);
  /// Words that are no option's.
  const std::vector<std::string> &remaining() const { return left; }

  /// Whether an option of this group and name is meant.
  using Filter =
      std::function<bool(const std::string &group, const std::string &name)>;

  /// Hands the values on, of those that `takes` (all, where it is null). Of an
  /// option that is given twice the one or the other would be ignored: an
  /// error, but where the later ones are `overrides`.
  Status apply(bool overrides = false, const Filter &takes = nullptr);

  /// Whether what the options that are given need is given, too.
  Status checkNeeded() const;

  static Status givenTwice(const std::string &option, const std::string &first,
                           const std::string &second) {
    return Status::error(StatusCode::InvalidArgument, "option is given twice",
                         option,
                         "'" + first + "' and '" + second + "' are two values",
                         "leave one of them out");
  }

private:
  static std::string longName(const std::string &name) {
    return name.substr(name.find("--"));
  }
  struct Row;
  void add(std::unique_ptr<Row> row, HelpRow help);
  Status checkIsRead(const Row &row) const;

  const std::unique_ptr<CLI::App> app;
  Options &options;
  bool version = false; // is asked for
  std::vector<std::string> left;
  std::string currentGroup, commands, explaining;
  bool compiled = false;
  std::vector<std::unique_ptr<Row>> rows;
  std::vector<HelpRow> helpRows;
};

/// Where the processes of a run are, and how long they wait for each other.
void addClusterOptions(Table &table, Options &o);
/// What runs without training, and where compiled packages are kept.
void addBenchOptions(Table &table, Options &o);
/// What a mode of predict or bench does not read of what the others do.
Status checkModes(const Options &o);
/// States that are saved, gone on with and evaluated.
void addStateOptions(Table &table, Options &o);
/// All rows of both tools.
void addRows(Table &table, Tool tool, Options &o);

} // namespace dist::tools

#endif // TOOLS_OPTIONS_TABLE_H
