//===- help.cpp - Pages of --help -----------------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/options/help.h"
#include <algorithm>
#include <sstream>
#include <sys/ioctl.h>
#include <unistd.h>

namespace dist::tools {

const std::vector<CommandRow> &commandTable() {
  static const std::vector<CommandRow> rows = {
      {"fit", "trains a model on data"},
      {"evaluate", "loss and metrics of a model on data"},
      {"predict", "a model's outputs for inputs in files"},
      {"bench", "times steps (median, mean and best), or measures this machine "
                "(--calibrate) or its collectives (--collectives)"},
      {"info", "inputs, outputs and variables of a model, and what is trained"},
      {"status", "how far a cluster is, and who of it is slow"},
      {"coordinator",
       "serves the store in which the processes of clusters meet"},
  };
  return rows;
}

size_t terminalWidth() {
  winsize size = {};
  if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
      size.ws_col > 0)
    return size.ws_col;
  return 80;
}

/// `text` behind `head`, whose lines begin at column `indent`.
static std::string besides(const std::string &head, const std::string &text,
                           size_t indent, size_t width) {
  std::string page = head;
  size_t column = head.size();
  auto newLine = [&] {
    page += "\n" + std::string(indent, ' ');
    column = indent;
  };
  if (column + 2 > indent) {
    newLine();
  } else {
    page.append(indent - column, ' ');
    column = indent;
  }
  std::istringstream words(text);
  std::string word;
  while (words >> word) {
    bool first = column == indent;
    if (!first && column + 1 + word.size() > width) {
      newLine();
      first = true;
    }
    page += (first ? "" : " ") + word;
    column += word.size() + !first;
  }
  return page + "\n";
}

bool isCommand(const std::string &name) {
  const std::vector<CommandRow> &rows = commandTable();
  return std::any_of(rows.begin(), rows.end(),
                     [&](const CommandRow &row) { return name == row.name; });
}

bool isUsedBy(const std::string &commands, const std::string &command) {
  // What all have is of a model, and these have none.
  if (commands.empty())
    return command != "status" && command != "coordinator";
  return (" " + commands + " ").find(" " + command + " ") != std::string::npos;
}

std::string listOf(std::string commands) {
  for (size_t at = 0; (at = commands.find(' ', at)) != std::string::npos;
       at += 2)
    commands.insert(at, ",");
  return commands;
}

std::string formatHelp(Tool tool, const std::string &command,
                       const std::vector<HelpRow> &rows, size_t width) {
  // Where a terminal is narrow, what an option does stands below it.
  size_t indent = width >= 70 ? 28 : 6;
  bool run = tool == Tool::Run;
  std::string page;
  if (!run) {
    page = besides("Compiles a model file and a strategy to a program.",
                   "With pass options or --pass-pipeline it is an mlir-opt.", 0,
                   width) +
           "\nUsage: dist-opt MODEL [OPTIONS]\n";
  } else if (command.empty()) {
    page = "Trains, evaluates, runs and times a model file or a compiled "
           "package.\n\nUsage: dist-run COMMAND MODEL [OPTIONS]\n"
           "       dist-run status [ADDRESS]\n"
           "       dist-run coordinator ADDRESS\n\n"
           "Commands (COMMAND --help: its options):\n";
    for (const CommandRow &row : commandTable())
      page += besides("  " + std::string(row.name), row.what, indent, width);
  } else {
    for (const CommandRow &row : commandTable())
      if (command == row.name)
        page = "dist-run " + command + ": " + row.what + ".\n";
    page += "\nUsage: dist-run " + command +
            (command == "status"        ? " [HOST:PORT of the chief]"
             : command == "coordinator" ? " HOST:PORT"
                                        : " MODEL") +
            " [OPTIONS]\n";
  }
  std::string group;
  for (const HelpRow &row : rows) {
    if (!command.empty() && !isUsedBy(row.commands, command))
      continue;
    if (row.group != group)
      page += "\n" + row.group + ":\n";
    group = row.group;
    std::string head = "  " + row.name;
    if (!row.form.empty())
      head += " " + row.form;
    page += besides(head, row.text, indent, width);
  }
  page += "\nOther:\n";
  page += besides("  -h,--help", "this text", indent, width);
  page += besides("  --version", "the version", indent, width);
  return page;
}

} // namespace dist::tools
