// SPDX-License-Identifier: MIT
#include "tools/command/help.h"

#include "tools/command/text.h"

namespace camshaft::command {
namespace {

constexpr size_t kDescriptionColumn = 26;
constexpr size_t kColumns = 96;

std::string left_column(const CLI::Option* option, bool is_positional) {
  std::string text = "  " + option->get_name(is_positional, true);
  // The checks' words follow the type after a colon.
  const std::string type = split(option->get_type_name(), ':').front();
  if (!is_positional && option->get_items_expected() != 0) text += " " + type;
  return text;
}

std::string description(const CLI::Option* option) {
  std::string text = option->get_description();
  const std::string standard = option->get_default_str();
  if (option->get_items_expected() == 0 || standard.empty()) return text;
  const bool is_list = standard.front() == '[';
  return text + " " + (is_list ? standard : "[" + standard + "]");
}

}  // namespace

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  std::string line = left_column(option, is_positional);
  std::string text;
  if (line.size() + 2 > kDescriptionColumn) {
    text = line + "\n";
    line.clear();
  }
  line.resize(kDescriptionColumn, ' ');
  bool is_first = true;
  for (const std::string& word : split(description(option), ' ')) {
    if (line.size() + 1 + word.size() > kColumns) {
      text += line + "\n";
      line.assign(kDescriptionColumn, ' ');
      is_first = true;
    }
    line += (is_first ? "" : " ") + word;
    is_first = false;
  }
  return text + line + "\n";
}

}  // namespace camshaft::command
