// SPDX-License-Identifier: MIT
// Tables for people: columns aligned by spaces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace camshaft::command {

enum class Align : uint8_t { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // A cell a column; missing ones are empty.
  void add_row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  // Title row and rows, each ending in a newline, without spaces at line ends. Titles that are all
  // empty are left out. Control characters in cells become '?'.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace camshaft::command
