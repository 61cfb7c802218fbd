//===- help.h - Pages of --help ---------------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TOOLS_OPTIONS_HELP_H
#define TOOLS_OPTIONS_HELP_H

#include "tools/options/options.h"

namespace dist::tools {

/// A command of dist-run.
struct CommandRow {
  const char *name, *what;
};
const std::vector<CommandRow> &commandTable();

/// An option as the help shows it.
struct HelpRow {
  std::string group, name, form, text;
  std::string commands; // that use it, between blanks; empty: all
};

bool isCommand(const std::string &name);
/// Whether the command is of those, between blanks; none: of all that have a
/// model.
bool isUsedBy(const std::string &commands, const std::string &command);
/// `fit, bench`: names between blanks, for people.
std::string listOf(std::string commands);

/// The page of a tool, or of one of dist-run's commands: options by topic, no
/// line longer than `width` where words allow.
std::string formatHelp(Tool tool, const std::string &command,
                       const std::vector<HelpRow> &rows, size_t width);

/// Of the terminal on stdout; 80 where there is none.
size_t terminalWidth();

} // namespace dist::tools

#endif // TOOLS_OPTIONS_HELP_H
