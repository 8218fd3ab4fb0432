// SPDX-License-Identifier: MIT
// The reader of print_graph()'s form. Errors name the line.
#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "codegen/ir/graph.h"
#include "codegen/ir/graph_attrs.h"
#include "codegen/ir/literal.h"
#include "codegen/ir/text_scanner.h"

namespace camshaft::ir {
namespace {

using base::Result;
using base::Status;

// Literals in text are for tests and dumps: a larger one is a mistake, not a reason to allocate.
constexpr int64_t kMaxTextLiteralBytes = int64_t{1} << 32;

// Reads the value of one attribute, whatever its type.
struct FieldReader {
  TextScanner& scan;
  Status status = base::ok();

  template <typename T>
  void read(T& field) {
    if constexpr (std::is_same_v<T, bool>) {
      read_enum(field, kBoolNames);
    } else if constexpr (std::is_same_v<T, PadMode>) {
      read_enum(field, kPadModeNames);
    } else if constexpr (std::is_same_v<T, ReduceKind>) {
      read_enum(field, kReduceKindNames);
    } else if constexpr (std::is_same_v<T, PoolKind>) {
      read_enum(field, kPoolKindNames);
    } else if constexpr (std::is_same_v<T, ScatterKind>) {
      read_enum(field, kScatterKindNames);
    } else if constexpr (std::is_same_v<T, DType>) {
      status = scan.dtype(field);
    } else if constexpr (std::is_arithmetic_v<T>) {
      status = scan.number(field);
    } else {
      read_list(field);
    }
  }

 private:
  static constexpr std::string_view kBoolNames[] = {"false", "true"};

  template <typename T, size_t N>
  void read_enum(T& field, const std::string_view (&names)[N]) {
    const std::string_view word = scan.word();
    for (size_t i = 0; i < N; ++i) {
      if (names[i] != word) continue;
      field = static_cast<T>(i);
      return;
    }
    status = scan.error("'%.*s' is not a value of this attribute", static_cast<int>(word.size()),
                        word.data());
  }

  template <typename T>
  void read_list(std::vector<T>& field) {
    field.clear();
    status = scan.expect('[');
    while (status.is_ok() && !scan.accept(']')) {
      if (!field.empty()) status = scan.expect(',');
      T value{};
      if (status.is_ok()) status = scan.number(value);
      field.push_back(value);
    }
  }
};

class GraphReader {
 public:
  explicit GraphReader(std::string_view text) : scan_(text) {}

  Result<Graph> read() {
    if (scan_.word() != "graph") return scan_.error("expected 'graph \"name\" {'");
    CAMSHAFT_TRY(scan_.string(graph_.name));
    CAMSHAFT_TRY(scan_.expect('{'));
    while (!scan_.accept('}')) {
      if (scan_.accept('%')) {
        CAMSHAFT_TRY(read_node());
        continue;
      }
      const std::string_view word = scan_.word();
      if (word == "output") {
        CAMSHAFT_TRY(read_output());
      } else if (word == "slice" && !graph_.outputs.empty()) {
        CAMSHAFT_TRY(read_slice());
      } else {
        return scan_.error("expected '%%ID = ...', 'output', 'slice' or '}'");
      }
    }
    if (!scan_.at_end()) return scan_.error("text after the closing brace");
    return std::move(graph_);
  }

 private:
  Status read_node() {
    const std::string id(scan_.word());
    if (id.empty() || ids_.contains(id)) {
      return scan_.error("%%%s is not a new name", id.c_str());
    }
    CAMSHAFT_TRY(scan_.expect('='));
    const std::string_view name = scan_.word();
    NodeId node = kNoNode;
    if (name == "input") {
      CAMSHAFT_TRY(read_input(node));
    } else if (name == "constant") {
      CAMSHAFT_TRY(read_constant(node));
    } else {
      CAMSHAFT_TRY(read_operation(name, node));
    }
    ids_.emplace(id, node);
    return base::ok();
  }

  Status read_operand(NodeId& node) {
    CAMSHAFT_TRY(scan_.expect('%'));
    const std::string id(scan_.word());
    const auto found = ids_.find(id);
    if (found == ids_.end()) return scan_.error("%%%s is not defined above", id.c_str());
    node = found->second;
    return base::ok();
  }

  Status read_type(TensorType& type) {
    CAMSHAFT_TRY(scan_.dtype(type.dtype));
    CAMSHAFT_TRY(scan_.expect('['));
    type.shape.clear();
    while (!scan_.accept(']')) {
      if (!type.shape.empty()) CAMSHAFT_TRY(scan_.expect('x'));
      int64_t extent = 0;
      CAMSHAFT_TRY(scan_.number(extent));
      type.shape.push_back(extent);
    }
    // A Reshape to the same shape is the identity: it checks extents and size.
    return base::internal::to_status(infer_type(Op::kReshape, {type}, ReshapeAttrs{type.shape}));
  }

  Status read_unit(std::string& unit) {
    return scan_.accept_word("unit") ? scan_.string(unit) : base::ok();
  }

  Status read_input(NodeId& node) {
    std::string name;
    TensorType type;
    CAMSHAFT_TRY(scan_.string(name));
    CAMSHAFT_TRY(scan_.expect(':'));
    CAMSHAFT_TRY(read_type(type));
    node = graph_.add_input(name, type);
    return read_unit(graph_.inputs.back().unit);
  }

  // The data comes before its type, so it is scanned over once and read afterwards.
  Status read_constant(NodeId& node) {
    CAMSHAFT_TRY(scan_.expect('{'));
    const TextScanner data = scan_;
    CAMSHAFT_TRY(scan_.skip_past('}'));
    CAMSHAFT_TRY(scan_.expect(':'));
    TensorType type;
    CAMSHAFT_TRY(read_type(type));
    if (type.size_bytes() > kMaxTextLiteralBytes) {
      return scan_.error("a constant of %s is too large", to_string(type).c_str());
    }
    const TextScanner after = std::exchange(scan_, data);
    Literal literal;
    CAMSHAFT_TRY(read_data(type, literal));
    scan_ = after;
    std::string name;
    CAMSHAFT_TRY(read_name(name));
    node = graph_.add_constant(std::move(literal), name);
    return base::ok();
  }

  Status read_data(const TensorType& type, Literal& literal) {
    if (scan_.accept_word("seed")) {
      uint64_t seed = 0;
      CAMSHAFT_TRY(scan_.number(seed));
      literal = seeded_literal(type, seed);
      return scan_.expect('}');
    }
    literal = zero_literal(type);
    if (scan_.accept_word("splat")) {
      Literal one = zero_literal({type.dtype, {}});
      CAMSHAFT_TRY(read_element(one, 0));
      const size_t size = one.bytes.size();
      for (size_t i = 0; i < literal.bytes.size(); ++i) literal.bytes[i] = one.bytes[i % size];
      return scan_.expect('}');
    }
    const int64_t count = type.elements();
    for (int64_t i = 0; i < count; ++i) {
      if (i > 0) CAMSHAFT_TRY(scan_.expect(','));
      CAMSHAFT_TRY(read_element(literal, i));
    }
    return scan_.expect('}');
  }

  Status read_element(Literal& literal, int64_t i) {
    switch (literal.type.dtype) {
      case DType::kFloat32:
        return scan_.number(literal.data<float>()[i]);
      case DType::kUInt64:
        return scan_.number(literal.data<uint64_t>()[i]);
      default:
        break;
    }
    if (base::is_float(literal.type.dtype)) {
      double value = 0;
      CAMSHAFT_TRY(scan_.number(value));
      set_literal_element(literal, i, value);
      return base::ok();
    }
    int64_t value = 0;
    CAMSHAFT_TRY(scan_.number(value));
    if (wrap_to_dtype(value, literal.type.dtype) != value) {
      return scan_.error("%lld does not fit %s", static_cast<long long>(value),
                         base::dtype_name(literal.type.dtype));
    }
    set_literal_element_int(literal, i, value);
    return base::ok();
  }

  Status read_name(std::string& name) { return scan_.peek('"') ? scan_.string(name) : base::ok(); }

  Status read_attrs(Attrs& attrs) {
    if (!scan_.accept('{')) return base::ok();
    do {
      const std::string_view name = scan_.word();
      CAMSHAFT_TRY(scan_.expect('='));
      FieldReader reader{scan_};
      bool known = false;
      visit_attrs(attrs, [&](std::string_view field_name, auto& field) {
        if (field_name != name) return;
        known = true;
        reader.read(field);
      });
      if (!known) {
        return scan_.error("unknown attribute '%.*s'", static_cast<int>(name.size()), name.data());
      }
      CAMSHAFT_TRY(reader.status);
    } while (scan_.accept(','));
    return scan_.expect('}');
  }

  Status read_operation(std::string_view op_name, NodeId& node) {
    Op op = Op::kInput;
    for (int i = 0; i < kOpCount; ++i) {
      if (op_name == op_info(static_cast<Op>(i)).name) op = static_cast<Op>(i);
    }
    if (op == Op::kInput) {
      return scan_.error("no op '%.*s'", static_cast<int>(op_name.size()), op_name.data());
    }
    std::vector<NodeId> operands;
    CAMSHAFT_TRY(scan_.expect('('));
    do {
      CAMSHAFT_TRY(read_operand(operands.emplace_back()));
    } while (scan_.accept(','));
    CAMSHAFT_TRY(scan_.expect(')'));
    Attrs attrs = default_attrs(op);
    CAMSHAFT_TRY(read_attrs(attrs));
    std::vector<TensorType> types;
    for (const NodeId operand : operands) types.push_back(graph_.node(operand).type);
    const Result<TensorType> inferred = infer_type(op, types, attrs);
    if (!inferred) return scan_.error("this node is not well typed");
    if (scan_.accept(':')) {
      TensorType type;
      CAMSHAFT_TRY(read_type(type));
      if (type != *inferred) {
        return scan_.error("the type is %s, not %s", to_string(*inferred).c_str(),
                           to_string(type).c_str());
      }
    }
    std::string name;
    CAMSHAFT_TRY(read_name(name));
    node = graph_.add(op, std::move(operands), std::move(attrs), name);
    return base::ok();
  }

  Status read_output() {
    GraphOutput output;
    CAMSHAFT_TRY(scan_.string(output.name));
    CAMSHAFT_TRY(scan_.expect('='));
    CAMSHAFT_TRY(read_operand(output.node));
    CAMSHAFT_TRY(read_unit(output.unit));
    graph_.outputs.push_back(std::move(output));
    return base::ok();
  }

  Status read_slice() {
    OutputSlice slice;
    CAMSHAFT_TRY(scan_.string(slice.name));
    CAMSHAFT_TRY(scan_.expect('{'));
    if (scan_.word() != "offset") return scan_.error("expected offset=");
    CAMSHAFT_TRY(scan_.expect('='));
    CAMSHAFT_TRY(scan_.number(slice.offset));
    CAMSHAFT_TRY(scan_.expect(','));
    if (scan_.word() != "shape") return scan_.error("expected shape=");
    CAMSHAFT_TRY(scan_.expect('='));
    FieldReader reader{scan_};
    reader.read(slice.shape);
    CAMSHAFT_TRY(reader.status);
    CAMSHAFT_TRY(scan_.expect('}'));
    CAMSHAFT_TRY(read_unit(slice.unit));
    graph_.outputs.back().slices.push_back(std::move(slice));
    return base::ok();
  }

  TextScanner scan_;
  Graph graph_;
  std::map<std::string, NodeId> ids_;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text) {
  return GraphReader(text).read();
}

}  // namespace camshaft::ir
