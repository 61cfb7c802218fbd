//===- near_word.h - The word that was meant --------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef RUNTIME_CORE_NEAR_WORD_H
#define RUNTIME_CORE_NEAR_WORD_H

#include <algorithm>
#include <string>
#include <vector>

namespace dist {

/// How many letters must be added, left out or changed (Levenshtein).
inline size_t letterDistance(const std::string &word, const std::string &name) {
  std::vector<size_t> row(name.size() + 1); // of the table, one at a time
  for (size_t j = 0; j <= name.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= word.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= name.size(); ++j) {
      size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1,
                         diagonal + (word[i - 1] != name[j - 1])});
      diagonal = above;
    }
  }
  return row[name.size()];
}

/// The nearest of `known` by letters, or one that the word begins; empty when
/// none is near.
inline std::string nearestWord(const std::string &word,
                               const std::vector<std::string> &known) {
  // A word of any length comes from files, too; no name is so long.
  if (word.size() > 64)
    return "";
  std::string best;
  // With half of its letters wrong it is another word.
  size_t dashes = word.find_first_not_of('-');
  size_t letters =
      word.size() - (dashes == std::string::npos ? word.size() : dashes);
  size_t least = std::min(letters, 2 + (letters + 1) / 3);
  for (const std::string &name : known) {
    size_t distance = letterDistance(word, name);
    if (name.size() > word.size() && name.compare(0, word.size(), word) == 0)
      distance = 1;
    if (distance < least) {
      least = distance;
      best = name;
    }
  }
  return best;
}

/// For an error of a name that is not known: which one was meant, or all that
/// there are.
inline std::string suggestWord(const std::string &word,
                               const std::vector<std::string> &known) {
  if (std::string near = nearestWord(word, known); !near.empty())
    return "did you mean '" + near + "'?";
  std::string all;
  for (const std::string &name : known)
    all += (all.empty() ? "there are " : ", ") + name;
  return all;
}

} // namespace dist

#endif // RUNTIME_CORE_NEAR_WORD_H
