// SPDX-License-Identifier: MIT
#include "codegen/onnx/einsum.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <utility>
#include <vector>

#include "codegen/onnx/format.h"

namespace camshaft::onnx {
namespace {

// One character for an axis: the letter, or for the axes of "..." a number from kEllipsis on, the
// last axis being kEllipsisEnd - 1.
using Label = unsigned char;
using Labels = std::vector<Label>;
constexpr int kEllipsisEnd = 64;  // below the letters
constexpr int kMaxEllipsisAxes = 32;

// An operand whose axes are named, each name once.
struct Term {
  Value value;
  Labels labels;
};

bool has(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// The labels of one side's part; `ellipsis_axes` says how many axes "..." stands for. Nothing if
// the text is malformed.
std::optional<Labels> parse_labels(const std::string& text, int ellipsis_axes) {
  Labels labels;
  bool ellipsis = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      labels.push_back(static_cast<Label>(text[i]));
    } else if (text.compare(i, 3, "...") == 0 && !ellipsis && ellipsis_axes >= 0 &&
               ellipsis_axes <= kMaxEllipsisAxes) {
      for (int axis = 0; axis < ellipsis_axes; ++axis) {
        labels.push_back(static_cast<Label>(kEllipsisEnd - ellipsis_axes + axis));
      }
      ellipsis = true;
      i += 2;
    } else {
      return std::nullopt;
    }
  }
  return labels;
}

// Replaces two axes of one name by their diagonal: zero elsewhere, then summed over the second.
Term with_diagonals(Term term) {
  for (size_t i = 0; i < term.labels.size(); ++i) {
    const auto begin = term.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    const auto twin = std::find(begin, term.labels.end(), term.labels[i]);
    if (twin == term.labels.end()) continue;
    const auto axis = static_cast<int>(i);
    const auto other = static_cast<int>(twin - term.labels.begin());
    const Value x = term.value;
    const Value steps = x ? x.builder()->iota(x.dim(axis)) : Value();
    const Value on_diagonal =
        equal(place_axes(steps, {axis}, x.rank()), place_axes(steps, {other}, x.rank()));
    const Value kept = select(on_diagonal, x, scalar_like(x, 0));
    term.value = drop_axes(reduce(ir::ReduceKind::kSum, kept, {other}), {other});
    term.labels.erase(twin);
    return with_diagonals(std::move(term));
  }
  return term;
}

Term sum_out(Term term, const Labels& kept) {
  std::vector<int> axes;
  Labels labels;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    if (has(kept, term.labels[i])) {
      labels.push_back(term.labels[i]);
    } else {
      axes.push_back(static_cast<int>(i));
    }
  }
  return {drop_axes(reduce(ir::ReduceKind::kSum, term.value, axes), axes), std::move(labels)};
}

// The term with its axes in the order of `labels`; ones it lacks have extent 1.
Value arranged(const Term& term, const Labels& labels) {
  std::vector<int> perm;
  std::vector<int> places;
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto found = std::find(term.labels.begin(), term.labels.end(), labels[i]);
    if (found == term.labels.end()) continue;
    perm.push_back(static_cast<int>(found - term.labels.begin()));
    places.push_back(static_cast<int>(i));
  }
  return place_axes(transpose(term.value, std::move(perm)), places,
                    static_cast<int>(labels.size()));
}

int64_t extent_of(const Term& term, Label label) {
  const auto found = std::find(term.labels.begin(), term.labels.end(), label);
  return found == term.labels.end() ? 1
                                    : term.value.dim(static_cast<int>(found - term.labels.begin()));
}

// The labels of a product, by what a matrix product does with them.
struct Roles {
  Labels batch;  // in both operands and kept
  Labels left;
  Labels right;
  Labels summed;  // in both, not kept
};

Roles roles_of(const Term& a, const Term& b, const Labels& kept) {
  Roles roles;
  for (const Label label : a.labels) {
    const bool shared = has(b.labels, label);
    (!shared ? roles.left : has(kept, label) ? roles.batch : roles.summed).push_back(label);
  }
  for (const Label label : b.labels) {
    if (!has(a.labels, label)) roles.right.push_back(label);
  }
  return roles;
}

// Extents of labels after broadcasting between the operands; the product of all is checked by the
// values' own sizes.
Shape extents(const Term& a, const Term& b, const Labels& labels) {
  Shape shape;
  for (const Label label : labels) {
    const int64_t in_a = extent_of(a, label);
    shape.push_back(in_a == 1 ? extent_of(b, label) : in_a);
  }
  return shape;
}

int64_t product(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<int64_t>());
}

Labels joined(Labels first, const Labels& second, const Labels& third) {
  first.insert(first.end(), second.begin(), second.end());
  first.insert(first.end(), third.begin(), third.end());
  return first;
}

// One operand of the product as [batch, rows, columns].
Value as_matrices(const Term& term, const Labels& batch, const Labels& rows, const Labels& columns,
                  const Term& a, const Term& b) {
  const Labels order = joined(batch, rows, columns);
  const Value full = broadcast_to(arranged(term, order), extents(a, b, order));
  return full ? reshape(full, {product(extents(a, b, batch)), product(extents(a, b, rows)),
                               product(extents(a, b, columns))})
              : Value();
}

Term multiply(Term a, Term b, const Labels& kept) {
  a = sum_out(std::move(a), joined(kept, b.labels, {}));
  b = sum_out(std::move(b), joined(kept, a.labels, {}));
  if (!a.value || !b.value) return {};
  const Roles roles = roles_of(a, b, kept);
  const Labels result = joined(roles.batch, roles.left, roles.right);
  if (roles.summed.empty()) return {arranged(a, result) * arranged(b, result), result};
  const Value rows = as_matrices(a, roles.batch, roles.left, roles.summed, a, b);
  const Value columns = as_matrices(b, roles.batch, roles.summed, roles.right, a, b);
  if (!rows || !columns) return {};
  return {reshape(matmul(rows, columns), extents(a, b, result)), result};
}

// "ij,jk->ik" taken apart. Without an arrow the result has the axes named once, in order.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
  bool explicit_result = false;
};

Equation parse_equation(const std::string& text) {
  Equation equation{{""}, "", false};
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text.compare(i, 2, "->") == 0 && !equation.explicit_result) {
      equation.explicit_result = true;
      ++i;
    } else if (equation.explicit_result) {
      equation.result += text[i];
    } else if (text[i] == ',') {
      equation.operands.emplace_back();
    } else {
      equation.operands.back() += text[i];
    }
  }
  return equation;
}

Labels implied_result(const std::vector<Term>& terms) {
  std::array<int, 256> count{};
  Labels ellipsis;
  for (const Term& term : terms) {
    for (const Label label : term.labels) {
      ++count[label];
      if (label < kEllipsisEnd && !has(ellipsis, label)) ellipsis.push_back(label);
    }
  }
  std::sort(ellipsis.begin(), ellipsis.end());
  Labels labels = std::move(ellipsis);
  for (int letter = kEllipsisEnd; letter < 256; ++letter) {
    if (count[static_cast<size_t>(letter)] == 1) labels.push_back(static_cast<Label>(letter));
  }
  return labels;
}

// The operands with their axes named; empty with a problem if an operand doesn't fit its part.
std::vector<Term> read_terms(NodeReader& node, const Equation& equation, int* ellipsis_axes) {
  std::vector<Term> terms;
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    const Value x = node.input(static_cast<int>(i));
    const std::string& text = equation.operands[i];
    const bool ellipsis = text.find("...") != std::string::npos;
    const int axes = x.rank() - static_cast<int>(text.size()) + 3;
    const std::optional<Labels> labels = parse_labels(text, ellipsis ? axes : 0);
    if (!labels || static_cast<int>(labels->size()) != x.rank()) {
      node.invalid("'%s' doesn't fit the %d axes of operand %zu", printable(text).c_str(), x.rank(),
                   i);
      return {};
    }
    if (ellipsis) *ellipsis_axes = std::max(*ellipsis_axes, axes);
    terms.push_back({x, *labels});
  }
  return terms;
}

// Whether every name stands for one extent (or 1, which stretches), and only once in the result.
bool check_extents(NodeReader& node, const std::vector<Term>& terms, const Labels& result) {
  std::array<int64_t, 256> extent;
  extent.fill(-1);
  for (const Term& term : terms) {
    for (size_t i = 0; i < term.labels.size(); ++i) {
      int64_t& known = extent[term.labels[i]];
      const int64_t own = term.value.shape()[i];
      if (known > 1 && own != 1 && own != known) {
        node.invalid("an axis of the equation has extents %lld and %lld",
                     static_cast<long long>(known), static_cast<long long>(own));
        return false;
      }
      if (known < 0 || known == 1) known = own;
    }
  }
  for (size_t i = 0; i < result.size(); ++i) {
    if (extent[result[i]] >= 0 && std::count(result.begin(), result.end(), result[i]) == 1) {
      continue;
    }
    node.invalid("the result names an axis twice, or one that no operand has");
    return false;
  }
  return true;
}

}  // namespace

Value einsum(NodeReader& node, const std::string& text) {
  const Equation equation = parse_equation(text);
  if (static_cast<int>(equation.operands.size()) != node.input_count()) {
    return node.invalid("the equation has %zu operands, the node %d", equation.operands.size(),
                        node.input_count());
  }
  int ellipsis_axes = 0;
  std::vector<Term> terms = read_terms(node, equation, &ellipsis_axes);
  if (terms.empty()) return {};
  const std::optional<Labels> result = equation.explicit_result
                                           ? parse_labels(equation.result, ellipsis_axes)
                                           : implied_result(terms);
  if (!result)
    return node.invalid("can't read the result '%s'", printable(equation.result).c_str());
  if (!check_extents(node, terms, *result)) return {};
  Term product = with_diagonals(terms[0]);
  for (size_t i = 1; i < terms.size(); ++i) {
    Labels kept = *result;
    for (size_t k = i + 1; k < terms.size(); ++k) kept = joined(kept, terms[k].labels, {});
    product = multiply(std::move(product), with_diagonals(terms[i]), kept);
  }
  product = sum_out(std::move(product), *result);
  return arranged(product, *result);
}

}  // namespace camshaft::onnx
