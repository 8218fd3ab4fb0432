// SPDX-License-Identifier: MIT
#include "runtime/plan/diff.h"

#include <map>
#include <string_view>

#include "runtime/plan/describe.h"

namespace camshaft::plan {
namespace {

using Index = std::map<std::string_view, const Item*>;

Index index_of(const std::vector<Item>& items) {
  Index index;
  for (const Item& item : items) index[item.name] = &item;
  return index;
}

// Null where the item has no such field.
const std::string* find_field(const Item& item, std::string_view name) {
  for (const auto& [key, value] : item.fields) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string shown(const std::string* value) {
  return value == nullptr || value->empty() ? "nothing" : *value;
}

void diff_fields(const Item& before, const Item& after, std::vector<std::string>& lines) {
  for (const auto& [name, value] : before.fields) {
    const std::string* now = find_field(after, name);
    if (now != nullptr && *now == value) continue;
    lines.push_back(before.name + ": " + name + " from " + shown(&value) + " to " + shown(now));
  }
  for (const auto& [name, value] : after.fields) {
    if (find_field(before, name) != nullptr) continue;
    lines.push_back(before.name + ": " + name + " from nothing to " + shown(&value));
  }
}

// Items that the other plan doesn't have; of a whole target, the target alone.
void list_missing(const std::vector<Item>& items, const Index& other, const char* sign,
                  std::vector<std::string>& lines) {
  std::string parent;
  for (const Item& item : items) {
    if (other.contains(item.name)) continue;
    if (!parent.empty() && item.name.starts_with(parent)) continue;
    parent = item.name + ": ";
    lines.push_back(sign + item.name);
  }
}

std::vector<std::string_view> names_also_in(const std::vector<Item>& items, const Index& other) {
  std::vector<std::string_view> names;
  for (const Item& item : items) {
    if (other.contains(item.name)) names.push_back(item.name);
  }
  return names;
}

// The items of both, in one order and in the other: where do they part?
void diff_order(const std::vector<std::string_view>& before,
                const std::vector<std::string_view>& after, std::vector<std::string>& lines) {
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] == after[i]) continue;
    lines.push_back("the order differs: where " + std::string(before[i]) + " was is " +
                    std::string(after[i]));
    return;
  }
}

}  // namespace

std::vector<std::string> diff_plans(const PlanFile& before, const PlanFile& after) {
  const std::vector<Item> old_items = describe_plan(before);
  const std::vector<Item> new_items = describe_plan(after);
  const Index old_index = index_of(old_items);
  const Index new_index = index_of(new_items);
  std::vector<std::string> lines;
  for (const Item& item : old_items) {
    const auto found = new_index.find(item.name);
    if (found != new_index.end()) diff_fields(item, *found->second, lines);
  }
  list_missing(old_items, new_index, "- ", lines);
  list_missing(new_items, old_index, "+ ", lines);
  diff_order(names_also_in(old_items, new_index), names_also_in(new_items, old_index), lines);
  return lines;
}

}  // namespace camshaft::plan
