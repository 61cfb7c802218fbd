//===- table.cpp - Words to the rows of the option table -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/table.h"
#include <CLI/CLI.hpp>
#include <algorithm>

namespace dist::tools {

struct Table::Row {
  std::string name, group;
  std::string commands, explaining; // see usedBy
  CLI::Option *option = nullptr;
  std::vector<std::string> values;
  bool flagged = false;
  bool *target = nullptr;
  bool compiled = false;
  Times times = Times::Once;
  Setter set;
  struct {
    std::string name, form, why;
  } needed; // see needs

  /// --NAME=false is as if it were not given.
  bool isGiven() const { return option->count() > 0 && (!target || flagged); }
};

Table::Table(Tool tool, Options &options)
    : app(std::make_unique<CLI::App>(
          tool == Tool::Run
              ? "Trains, evaluates, runs and times a model file or a compiled "
                "package."
              : "Compiles a model file and a strategy to a program. With pass "
                "options or --pass-pipeline it is an mlir-opt.",
          tool == Tool::Run ? "dist-run" : "dist-opt")),
      options(options) {
  // Words of the model's names may hold anything: no configuration files, and
  // leftovers are ours to explain.
  app->allow_extras(true);
  app->set_help_flag("--help,-h", "this text");
  if (tool == Tool::Run)
    app->add_option("COMMAND", options.command,
                    "fit, evaluate, predict, bench, info or status");
  app->add_option("MODEL", options.model,
                  tool == Tool::Opt ? "model file"
                                    : "model file or package folder");
  app->add_flag("--version", version, "the version");
}

Table::~Table() = default;

void Table::add(std::unique_ptr<Row> row, HelpRow help) {
  row->name = longName(help.name);
  row->group = currentGroup;
  row->compiled = compiled;
  row->commands = commands;
  row->explaining = explaining;
  help.group = currentGroup;
  help.commands = commands;
  helpRows.push_back(std::move(help));
  rows.push_back(std::move(row));
}

void Table::value(const std::string &name, const std::string &form,
                  const std::string &help, Setter set, Times times) {
  auto row = std::make_unique<Row>();
  row->set = std::move(set);
  row->times = times;
  row->option = app->add_option(name, row->values, help)
                    ->type_name(form)
                    ->group(currentGroup)
                    ->expected(1)
                    ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
                    ->allow_extra_args(false);
  add(std::move(row), {"", name, form, help, ""});
}

void Table::flag(const std::string &name, const std::string &help,
                 bool *target) {
  auto row = std::make_unique<Row>();
  row->target = target;
  row->option = app->add_flag(name, row->flagged, help)->group(currentGroup);
  add(std::move(row), {"", name, "", help, ""});
}

void Table::needs(const std::string &other, const std::string &form,
                  const std::string &why) {
  rows.back()->needed = {other, form, why};
}

std::vector<std::string> Table::names() const {
  std::vector<std::string> all = {"--help", "--version"};
  for (auto &row : rows)
    all.push_back(row->name);
  return all;
}

Status Table::parse(std::vector<std::string> words, Asked *asked) {
  // CLI11 takes the words from the back.
  std::reverse(words.begin(), words.end());
  *asked = Asked::Nothing;
  try {
    app->parse(std::move(words));
  } catch (const CLI::CallForHelp &) {
    *asked = Asked::Help;
    return Status();
  } catch (const CLI::ParseError &error) {
    return Status::error(StatusCode::InvalidArgument, "wrong usage", "",
                         error.what(), "see --help");
  }
  if (version)
    *asked = Asked::Version;
  left = app->remaining();
  return Status();
}

/// What decides the program is part of it, whoever runs it: a model's commands
/// may share one line of it.
Status Table::checkIsRead(const Row &row) const {
  const std::string &command = options.command;
  if (row.compiled || !isCommand(command) || isUsedBy(row.commands, command) ||
      (!row.explaining.empty() && isUsedBy(row.explaining, command)))
    return Status();
  return Status::error(StatusCode::InvalidArgument, "option of another command",
                       row.name,
                       command + " does not read it; it is of " +
                           (row.commands.empty() ? "those that have a model"
                                                 : listOf(row.commands)),
                       "leave it out");
}

Status Table::checkNeeded() const {
  for (auto &row : rows) {
    const std::string &needed = row->needed.name;
    auto isIt = [&](auto &other) {
      return other->name == needed && other->isGiven();
    };
    if (!needed.empty() && row->isGiven() &&
        std::none_of(rows.begin(), rows.end(), isIt))
      return wrongValue(row->name, row->needed.why,
                        "add " + needed +
                            (row->needed.form.empty() ? "" : " ") +
                            row->needed.form + ", or leave it out");
  }
  return Status();
}

Status Table::apply(bool overrides, const Filter &takes) {
  for (auto &row : rows) {
    if (row->option->count() == 0 || (takes && !takes(row->group, row->name)))
      continue;
    DIST_RETURN_IF_ERROR(checkIsRead(*row));
    if (row->target) {
      *row->target = row->flagged;
      // --NAME=false is as if it were not given, to the compiler, too.
      if (row->compiled && row->flagged)
        options.compileArguments.push_back(row->name);
      continue;
    }
    if (row->times == Times::Once && row->values.size() > 1) {
      if (!overrides)
        return givenTwice(row->name, row->values[0], row->values[1]);
      row->values = {row->values.back()};
    }
    for (const std::string &given : row->values) {
      DIST_RETURN_IF_ERROR(row->set(given));
      if (row->compiled)
        options.compileArguments.push_back(row->name + "=" + given);
    }
  }
  return Status();
}

} // namespace dist::tools
