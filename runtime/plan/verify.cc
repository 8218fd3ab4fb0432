// SPDX-License-Identifier: MIT
#include "runtime/plan/verify.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "runtime/base/bytes.h"
#include "runtime/plan/checker.h"
#include "runtime/plan/format.h"

namespace camshaft::plan {
namespace {

using base::checked_add;
using base::checked_mul;

bool is_printable(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

// Elements of a shape, or nothing if it is not one of a tensor that a plan may hold.
std::optional<uint64_t> count_elements(const std::vector<int64_t>& shape) {
  if (shape.size() > kMaxRank) return std::nullopt;
  uint64_t count = 1;  // of the extents but 0, so that no order of multiplying overflows
  bool is_empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    is_empty = is_empty || extent == 0;
    const auto product = checked_mul(count, static_cast<uint64_t>(std::max<int64_t>(extent, 1)));
    if (!product || *product > kMaxBufferBytes) return std::nullopt;
    count = *product;
  }
  return is_empty ? 0 : count;
}

// The size of a golden section of these tensors.
std::optional<uint64_t> padded_size(const std::vector<TensorInfo>& tensors) {
  uint64_t total = 0;
  for (const TensorInfo& tensor : tensors) {
    const auto sum = checked_add(total, base::align_up(tensor.size_bytes(), kBufferAlignment));
    if (!sum) return std::nullopt;
    total = *sum;
  }
  return total;
}

bool check_slices(Checker& checker, const std::string& owner,
                  const std::vector<OutputSlice>& slices, uint64_t elements) {
  if (!checker.expect_names("slice of " + owner, slices)) return false;
  for (const OutputSlice& slice : slices) {
    const std::optional<uint64_t> count = count_elements(slice.shape);
    if (!checker.expect_printable("slice " + slice.name, slice.unit, "unit") ||
        !checker.expect(count && base::range_fits(slice.offset, *count, elements), "plan.slice",
                        "slice %.80s is not within %.80s", slice.name.c_str(), owner.c_str())) {
      return false;
    }
  }
  return true;
}

bool check_tensor(Checker& checker, const std::string& owner, const TensorInfo& tensor) {
  if (!checker.expect_printable(owner, tensor.unit, "unit") ||
      !checker.expect(static_cast<int>(tensor.dtype) < base::kDTypeCount, "plan.dtype",
                      "%.120s has the unknown dtype %d", owner.c_str(),
                      static_cast<int>(tensor.dtype))) {
    return false;
  }
  const std::optional<uint64_t> elements = count_elements(tensor.shape);
  const uint64_t element_bytes = static_cast<uint64_t>(base::dtype_size_bytes(tensor.dtype));
  return checker.expect(elements && *elements <= kMaxBufferBytes / element_bytes, "plan.shape",
                        "%.120s has an impossible shape", owner.c_str()) &&
         check_slices(checker, owner, tensor.slices, *elements);
}

bool check_tensors(Checker& checker, const std::string& what,
                   const std::vector<TensorInfo>& tensors) {
  if (!checker.expect_names(what, tensors)) return false;
  return std::all_of(tensors.begin(), tensors.end(), [&](const TensorInfo& tensor) {
    return check_tensor(checker, what + " " + tensor.name, tensor);
  });
}

// Inputs, free and frozen: they lack what outputs may have.
bool check_inputs(Checker& checker, const std::string& what,
                  const std::vector<TensorInfo>& inputs) {
  if (!check_tensors(checker, what, inputs)) return false;
  for (const TensorInfo& input : inputs) {
    const std::string owner = what + " " + input.name;
    if (!checker.expect(input.slices.empty(), "plan.slice",
                        "%.120s has slices, which only outputs have", owner.c_str()) ||
        !checker.expect(input.counted_axes.empty() && input.count_output == 0, "plan.counts",
                        "%.120s has counts, which only outputs have", owner.c_str())) {
      return false;
    }
  }
  return true;
}

bool are_axes(const std::vector<int64_t>& axes, size_t rank) {
  int64_t least = 0;
  for (const int64_t axis : axes) {
    if (axis < least || axis >= static_cast<int64_t>(rank)) return false;
    least = axis + 1;
  }
  return true;
}

// The output that says how long the counted axes of another one are.
bool check_counts(Checker& checker, const PlanInfo& info, const TensorInfo& output) {
  const std::string owner = "output " + output.name;
  if (output.counted_axes.empty()) {
    return checker.expect(output.count_output == 0, "plan.counts",
                          "%.120s has no counts, but output %u for them", owner.c_str(),
                          output.count_output);
  }
  if (!checker.expect(are_axes(output.counted_axes, output.shape.size()), "plan.counts",
                      "%.120s counts axes that it does not have in that order", owner.c_str()) ||
      !checker.expect(output.slices.empty(), "plan.counts",
                      "%.120s has slices, although its extents depend on data", owner.c_str()) ||
      !checker.expect(output.count_output < info.outputs.size(), "plan.counts",
                      "%.120s has its counts in output %u of %zu", owner.c_str(),
                      output.count_output, info.outputs.size())) {
    return false;
  }
  const TensorInfo& counts = info.outputs[output.count_output];
  const std::vector<int64_t> shape = {static_cast<int64_t>(output.counted_axes.size())};
  return checker.expect(
      counts.dtype == DType::kInt64 && counts.shape == shape && counts.counted_axes.empty(),
      "plan.counts", "%.100s has its counts in output %.80s, which holds others", owner.c_str(),
      counts.name.c_str());
}

bool check_exceeded_output(Checker& checker, const PlanInfo& info) {
  if (!info.exceeded_output) return true;
  const uint32_t index = *info.exceeded_output;
  return checker.expect(index < info.outputs.size() && info.outputs[index].dtype == DType::kBool &&
                            info.outputs[index].shape.empty(),
                        "plan.bounds", "output %u of %zu can't say whether a bound is exceeded",
                        index, info.outputs.size());
}

bool check_outputs(Checker& checker, const PlanInfo& info) {
  return check_tensors(checker, "output", info.outputs) &&
         std::all_of(
             info.outputs.begin(), info.outputs.end(),
             [&](const TensorInfo& output) { return check_counts(checker, info, output); }) &&
         check_exceeded_output(checker, info);
}

bool check_float_dtype(Checker& checker, const PlanInfo& info) {
  const DType dtype = info.float_dtype.value_or(DType::kFloat32);
  const bool is_known =
      dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  return checker.expect(is_known, "plan.dtype", "floats are stored in the dtype %d, which can't be",
                        static_cast<int>(dtype));
}

bool check_bounds(Checker& checker, const PlanInfo& info) {
  if (!checker.expect_names("bound", info.bounds)) return false;
  return std::all_of(info.bounds.begin(), info.bounds.end(), [&](const BoundInfo& bound) {
    return checker.expect(bound.most >= 0, "plan.bounds", "bound %.120s is %lld",
                          bound.name.c_str(), static_cast<long long>(bound.most));
  });
}

bool check_frozen(Checker& checker, const PlanInfo& info, std::span<const SectionShape> sections) {
  if (!check_inputs(checker, "frozen input", info.frozen)) return false;
  for (const TensorInfo& frozen : info.frozen) {
    const bool is_free =
        std::any_of(info.inputs.begin(), info.inputs.end(),
                    [&](const TensorInfo& input) { return input.name == frozen.name; });
    if (!checker.expect(!is_free, "plan.frozen", "input %.120s is frozen and is not",
                        frozen.name.c_str())) {
      return false;
    }
  }
  const uint32_t section = info.frozen_section;
  if (!checker.expect((section != 0) == !info.frozen.empty(), "plan.frozen",
                      "its %zu frozen inputs have section %u", info.frozen.size(), section)) {
    return false;
  }
  return section == 0 ||
         (check_section(checker, "the plan", sections, section, SectionKind::kFrozenInputs) &&
          checker.expect(sections[section].size_bytes == padded_size(info.frozen), "plan.frozen",
                         "the section of its frozen inputs has the wrong size"));
}

bool check_targets(Checker& checker, const PlanInfo& info, std::span<const SectionShape> sections) {
  if (!checker.expect(!info.targets.empty(), "plan.targets", "it holds no target") ||
      !checker.expect(info.targets.size() <= kMaxTargets, "plan.targets", "it holds %zu targets",
                      info.targets.size()) ||
      !checker.expect_names("target", info.targets, &TargetInfo::target)) {
    return false;
  }
  return std::all_of(info.targets.begin(), info.targets.end(), [&](const TargetInfo& target) {
    return check_target(checker, info, sections, target);
  });
}

bool check_golden(Checker& checker, const PlanInfo& info, std::span<const SectionShape> sections,
                  const Golden& golden) {
  const bool has_target =
      std::any_of(info.targets.begin(), info.targets.end(),
                  [&](const TargetInfo& target) { return target.target == golden.target; });
  const std::string owner = "golden of " + golden.target;
  const uint32_t inputs = golden.inputs_section;
  const uint32_t outputs = golden.outputs_section;
  return checker.expect(has_target, "plan.golden", "%.120s has no such target", owner.c_str()) &&
         check_section(checker, owner, sections, inputs, SectionKind::kGoldenInputs) &&
         check_section(checker, owner, sections, outputs, SectionKind::kGoldenOutputs) &&
         checker.expect(sections[inputs].size_bytes == padded_size(info.inputs) &&
                            sections[outputs].size_bytes == padded_size(info.outputs),
                        "plan.golden", "%.120s has sections of the wrong size", owner.c_str());
}

bool check_goldens(Checker& checker, const PlanInfo& info, std::span<const SectionShape> sections) {
  if (!checker.expect_names("golden", info.goldens, &Golden::target)) return false;
  return std::all_of(info.goldens.begin(), info.goldens.end(), [&](const Golden& golden) {
    return check_golden(checker, info, sections, golden);
  });
}

}  // namespace

bool Checker::expect(bool condition, const char* site, const char* format, ...) {
  if (condition) return true;
  if (problem_) return false;
  char text[256];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  problem_ = Problem{site, text};
  return false;
}

bool Checker::expect_printable(const std::string& owner, const std::string& text,
                               const char* what) {
  return is_printable(text) ||
         expect(false, "plan.text", "the %s of %.120s has control characters", what, owner.c_str());
}

bool Checker::expect_name(const std::string& owner, const std::string& text, const char* what) {
  return expect(!text.empty(), "plan.text", "%.120s has no %s", owner.c_str(), what) &&
         expect_printable(owner, text, what);
}

bool Checker::expect_unique(const std::string& what, std::vector<std::string_view> names) {
  std::sort(names.begin(), names.end());
  const auto twin = std::adjacent_find(names.begin(), names.end());
  return twin == names.end() || expect(false, "plan.name", "it has two of %.100s named %.100s",
                                       what.c_str(), std::string(*twin).c_str());
}

bool check_section(Checker& checker, const std::string& owner,
                   std::span<const SectionShape> sections, uint32_t index, SectionKind kind) {
  return checker.expect(index < sections.size() && sections[index].kind == kind,
                        "plan.section_index", "%.120s names section %u as its %s, which it is not",
                        owner.c_str(), index, section_kind_name(kind).c_str());
}

std::optional<Problem> find_problem(const PlanInfo& info, std::span<const SectionShape> sections) {
  Checker checker;
  const bool is_good =
      checker.expect_printable("the model", info.model_name, "name") &&
      checker.expect_printable("the plan", info.producer, "producer") &&
      checker.expect_printable("the plan", info.model_digest, "model digest") &&
      check_float_dtype(checker, info) && check_inputs(checker, "input", info.inputs) &&
      check_outputs(checker, info) && check_bounds(checker, info) &&
      check_frozen(checker, info, sections) && check_targets(checker, info, sections) &&
      check_goldens(checker, info, sections);
  std::optional<Problem> problem = checker.take_problem();
  CAMSHAFT_CHECK(is_good == !problem.has_value());
  return problem;
}

}  // namespace camshaft::plan
