// SPDX-License-Identifier: MIT
// What the files of verify.h share: recording the first broken rule, and rules about names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/verify.h"

namespace camshaft::plan {

// Each function returns whether the rule holds, so that rules are joined with &&.
class Checker {
 public:
  // Records the sentence if `condition` is false and nothing was recorded before.
  bool expect(bool condition, const char* site, const char* format, ...)
      __attribute__((format(printf, 4, 5)));

  // A text for people: no control characters, since it goes to terminals and logs.
  bool expect_printable(const std::string& owner, const std::string& text, const char* what);
  // The same, and not empty.
  bool expect_name(const std::string& owner, const std::string& text, const char* what);

  // The names by which the items of a list are looked up: no two the same. `what`: "input".
  template <typename T>
  bool expect_names(const std::string& what, const std::vector<T>& items,
                    std::string T::* name = &T::name) {
    std::vector<std::string_view> names;
    for (const T& item : items) {
      if (!expect_name(what + " " + std::to_string(names.size()), item.*name, "name")) return false;
      names.push_back(item.*name);
    }
    return expect_unique(what, std::move(names));
  }

  std::optional<Problem> take_problem() { return std::move(problem_); }

 private:
  bool expect_unique(const std::string& what, std::vector<std::string_view> names);

  std::optional<Problem> problem_;
};

// Whether `index` is a section of that kind; `owner` names it.
bool check_section(Checker& checker, const std::string& owner,
                   std::span<const SectionShape> sections, uint32_t index, SectionKind kind);

// verify_target.cc. The inputs and outputs have been checked.
bool check_target(Checker& checker, const PlanInfo& info, std::span<const SectionShape> sections,
                  const TargetInfo& target);

}  // namespace camshaft::plan
