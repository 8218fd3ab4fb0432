// SPDX-License-Identifier: MIT
#include "tools/command/table.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

constexpr const char* kGap = "  ";

}  // namespace

void Table::add_row(std::vector<std::string> cells) {
  CAMSHAFT_CHECK(cells.size() <= columns_.size());
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::vector<std::vector<std::string>> lines = rows_;
  if (!join(titles, "").empty()) lines.insert(lines.begin(), titles);
  std::vector<size_t> widths(columns_.size(), 0);
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], columns_of(line[i]));
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string padding(widths[i] - columns_of(line[i]), ' ');
      if (i > 0) row += kGap;
      row += columns_[i].align == Align::kLeft ? line[i] + padding : padding + line[i];
    }
    row.resize(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

}  // namespace camshaft::command
