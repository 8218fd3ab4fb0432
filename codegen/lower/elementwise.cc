// SPDX-License-Identifier: MIT
// Strategy `elementwise`: regions without a structured root. Loops follow the output's memory
// order; neighbouring axes that every access walks as one are merged, so that a plain chain of
// additions is one flat vector loop whatever its shape.
#include "codegen/lower/strategy_list.h"

#include <algorithm>
#include <set>

#include "codegen/ir/index_sum.h"
#include "codegen/lower/frame.h"

namespace camshaft::lower {
namespace {

using ir::KOp;
using ir::LoopKind;
using ir::VarId;

constexpr int64_t kChunk = 2048;  // elements of a long innermost axis that one iteration does
constexpr int64_t kEnoughThreads =
    64;  // iterations of the thread loop beyond which axes stay serial

// One loop nest: store `value` at `offset` for all values of the variables, outermost first.
struct Nest {
  std::vector<VarId> vars;
  std::vector<int64_t> extents;
  ExprId offset = ir::kNoExpr;
  ExprId value = ir::kNoExpr;
};

// The axes of `shape` in memory order, and the logical index that they give.
Nest make_axes(Kernel& kernel, const ir::Shape& shape, schedule::Layout layout, Index& index) {
  Nest nest;
  const int64_t block = layout.channel_block;
  const auto axis = [&](int64_t extent) {
    if (extent == 1) return kernel.int_const(0);
    const VarId var = kernel.add_loop_var("i", 0, std::max<int64_t>(extent - 1, 0));
    nest.vars.push_back(var);
    nest.extents.push_back(extent);
    return kernel.var(var);
  };
  index.assign(shape.size(), ir::kNoExpr);
  if (layout.row_texels > 0 && block > 1) {  // channels last
    for (size_t i = 0; i < shape.size(); ++i) {
      if (i != 1) index[i] = axis(shape[i]);
    }
    index[1] = axis(shape[1]);
    return nest;
  }
  index.clear();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i == 1 && block > 1) {
      index.push_back(kernel.mul(axis(shape[1] / block), block));
    } else {
      index.push_back(axis(shape[i]));
    }
  }
  if (block > 1) index[1] = kernel.add(index[1], axis(block));
  return nest;
}

// What an expression reads: the indices of its loads, and the variables that occur elsewhere.
class Accesses {
 public:
  Accesses(const Kernel& kernel, const Nest& nest) : kernel_(kernel), nest_(nest) {
    visit(nest.value);
    add_index(nest.offset);
  }

  // Whether each index has this axis in plain sums only.
  bool is_plain(size_t axis) const { return fixed_.count(nest_.vars[axis]) == 0; }

  bool mergeable(size_t outer, size_t inner) const {
    if (!is_plain(outer) || !is_plain(inner)) return false;
    for (const std::vector<int64_t>& stride : strides_) {
      if (stride[outer] != stride[inner] * nest_.extents[inner]) return false;
    }
    return true;
  }

 private:
  void visit(ExprId id) {
    if (!seen_.insert(id).second) return;
    const ir::Expr& expr = kernel_.expr(id);
    if (expr.op == KOp::kVar) fixed_.insert(static_cast<VarId>(expr.int_value));
    if (expr.op == KOp::kLoad) {
      add_index(expr.args[0]);
      return;
    }
    for (int i = 0; i < ir::kop_arity(expr.op); ++i) visit(expr.args[i]);
  }
  void add_index(ExprId id) {
    const ir::IndexSum sum(kernel_, id);
    if (!sum.fits()) return visit(id);
    std::vector<int64_t> stride(nest_.vars.size());
    for (const ir::IndexTerm& term : sum.terms()) {
      const ir::Expr& atom = kernel_.expr(term.atom);
      const auto var = std::find(nest_.vars.begin(), nest_.vars.end(),
                                 atom.op == KOp::kVar ? static_cast<VarId>(atom.int_value) : -1);
      if (var == nest_.vars.end()) {
        visit(term.atom);
      } else {
        stride[static_cast<size_t>(var - nest_.vars.begin())] += term.coefficient;
      }
    }
    strides_.push_back(std::move(stride));
  }

  const Kernel& kernel_;
  const Nest& nest_;
  std::set<ExprId> seen_;
  std::set<VarId> fixed_;
  std::vector<std::vector<int64_t>> strides_;
};

// Merges axes.
Nest merge_axes(Kernel& kernel, const Nest& nest) {
  const Accesses accesses(kernel, nest);
  Nest merged;
  merged.offset = nest.offset;
  merged.value = nest.value;
  const auto replace = [&](VarId var, ExprId by) {
    merged.offset = kernel.substitute(merged.offset, var, by);
    merged.value = kernel.substitute(merged.value, var, by);
  };
  size_t axis = nest.vars.size();
  while (axis-- > 0) {
    int64_t extent = nest.extents[axis];
    VarId var = nest.vars[axis];
    bool grew = false;
    while (axis > 0 && accesses.mergeable(axis - 1, axis)) {
      // The inner variable walks both axes: its stride over the longer range is the same walk.
      --axis;
      extent *= nest.extents[axis];
      replace(nest.vars[axis], kernel.int_const(0));
      grew = true;
    }
    if (grew) {
      const VarId longer = kernel.add_loop_var("i", 0, extent - 1);
      replace(var, kernel.var(longer));
      var = longer;
    }
    merged.vars.insert(merged.vars.begin(), var);
    merged.extents.insert(merged.extents.begin(), extent);
  }
  return merged;
}

// Makes one axis of the inner two where the innermost is too short for whole vectors (the channels
// of a narrow block), so that vectors go on into the next pixel. Their lanes are known distances
// apart then, since vectors are whole multiples of the innermost axis.
Nest widen_innermost(Kernel& kernel, const Nest& nest, int64_t lanes) {
  Nest wide = nest;
  while (wide.vars.size() > 1 && wide.extents.back() < lanes && lanes % wide.extents.back() == 0 &&
         Accesses(kernel, wide).is_plain(wide.vars.size() - 2)) {
    const VarId inner = wide.vars.back();
    const int64_t extent = wide.extents.back();
    wide.vars.pop_back();
    wide.extents.pop_back();
    const VarId outer = wide.vars.back();
    wide.extents.back() *= extent;
    wide.vars.back() = kernel.add_loop_var("i", 0, wide.extents.back() - 1);
    const ExprId both = kernel.var(wide.vars.back());
    for (ExprId* expr : {&wide.offset, &wide.value}) {
      *expr = kernel.substitute(*expr, inner, kernel.mod(both, extent));
      *expr = kernel.substitute(*expr, outer, kernel.div(both, extent));
    }
  }
  return wide;
}

// The statements of the innermost axis: elements [base, base + count) of it.
std::vector<Stmt> innermost(Kernel& kernel, ir::ArrayId output, const Nest& nest, ExprId base_index,
                            int64_t count) {
  if (nest.vars.empty()) return {ir::make_store(output, nest.offset, nest.value)};
  const VarId inner = nest.vars.back();
  return loop(kernel, "v", count, LoopKind::kVector, [&](ExprId lane) -> std::vector<Stmt> {
    const ExprId at = kernel.add(base_index, lane);
    return {ir::make_store(output, kernel.substitute(nest.offset, inner, at),
                           kernel.substitute(nest.value, inner, at))};
  });
}

// A part of the thread loop: `extent` iterations of `body`.
struct Part {
  int64_t extent = 0;
  Body body;
};

Part make_part(Frame& frame, const Nest& unmerged) {
  Kernel& kernel = frame.kernel();
  const bool is_gpu = frame.task.target.is_gpu;
  const int64_t vector = frame.lowered.knobs.lanes;
  const Nest merged = merge_axes(kernel, unmerged);
  const Nest nest = is_gpu ? merged : widen_innermost(kernel, merged, vector);
  const int64_t inner = nest.extents.empty() ? 1 : nest.extents.back();
  const int64_t chunk = is_gpu ? std::min(inner, vector) : inner > 2 * kChunk ? kChunk : inner;
  const int64_t chunks = (inner + chunk - 1) / chunk;
  const int64_t rest = inner - (chunks - 1) * chunk;
  size_t threaded = 0;  // leading axes that the thread loop walks
  int64_t extent = chunks;
  while (threaded + 1 < nest.vars.size() && (is_gpu || extent < kEnoughThreads)) {
    extent *= nest.extents[threaded++];
  }
  const ir::ArrayId output = frame.output;
  const Body body = [&kernel, nest, chunk, chunks, rest, threaded, output](ExprId t) {
    Nest here = nest;
    ExprId remaining = chunks == 1 ? t : kernel.div(t, chunks);
    const ExprId chunk_number = chunks == 1 ? kernel.int_const(0) : kernel.mod(t, chunks);
    for (size_t axis = threaded; axis-- > 0;) {
      const ExprId at = axis == 0 ? remaining : kernel.mod(remaining, nest.extents[axis]);
      remaining = kernel.div(remaining, nest.extents[axis]);
      here.offset = kernel.substitute(here.offset, nest.vars[axis], at);
      here.value = kernel.substitute(here.value, nest.vars[axis], at);
    }
    const ExprId first = kernel.mul(chunk_number, chunk);
    std::vector<Stmt> inside;
    if (rest == chunk) {
      inside = innermost(kernel, output, here, first, chunk);
    } else {
      const ExprId last = kernel.int_const(chunks - 1);
      inside = {ir::make_if(kernel.binary(KOp::kLt, chunk_number, last),
                            innermost(kernel, output, here, first, chunk)),
                ir::make_if(kernel.binary(KOp::kEq, chunk_number, last),
                            innermost(kernel, output, here, first, rest))};
    }
    for (size_t axis = nest.vars.size(); axis-- > threaded + 1;) {
      const size_t middle = axis - 1;
      inside = {ir::make_for(nest.vars[middle], kernel.int_const(0),
                             kernel.int_const(nest.extents[middle]), LoopKind::kSerial,
                             std::move(inside))};
    }
    return inside;
  };
  return {extent, body};
}

Nest whole_output(Frame& frame, Evaluator& evaluator) {
  const NodeId output = frame.task.region.output;
  const ir::TensorType& type = frame.task.type(output);
  Index index;
  Nest nest =
      make_axes(frame.kernel(), type.shape, frame.task.schedule.buffer(output).layout, index);
  const Stmt store = evaluator.store_output(frame.output, index, evaluator.value(output, index));
  nest.offset = store.index;
  nest.value = store.value;
  return nest;
}

// Channels, or whatever the output Concat's axis has, [first, first + count) of its operand
// `which`, which begins at `begin`.
struct Piece {
  size_t which;
  int64_t begin;
  int64_t first;
  int64_t count;
};

// Stored to its place, in the order of `layout`, of which it must be whole blocks.
Nest concat_piece(Frame& frame, Evaluator& evaluator, const Piece& piece, schedule::Layout layout) {
  const NodeId output = frame.task.region.output;
  const ir::Node& concat = frame.task.node(output);
  const NodeId operand = concat.inputs[piece.which];
  const auto axis = static_cast<size_t>(concat.as<ir::ConcatAttrs>().axis);
  ir::Shape shape = frame.task.type(operand).shape;
  shape[axis] = piece.count;
  Index index;
  Nest nest = make_axes(frame.kernel(), shape, layout, index);
  index[axis] = frame.kernel().add(index[axis], piece.first);
  Index place = index;
  place[axis] = frame.kernel().add(place[axis], piece.begin);
  const Stmt store = evaluator.store_output(frame.output, place, evaluator.value(operand, index));
  nest.offset = store.index;
  nest.value = store.value;
  return nest;
}

// Columns [begin, begin + count) of the output Pad: of one piece it is known whether they are
// padding.
Nest pad_piece(Frame& frame, Evaluator& evaluator, int64_t begin, int64_t count) {
  const NodeId output = frame.task.region.output;
  ir::Shape shape = frame.task.type(output).shape;
  shape.back() = count;
  Index index;
  Nest nest = make_axes(frame.kernel(), shape, frame.task.schedule.buffer(output).layout, index);
  index.back() = frame.kernel().add(index.back(), begin);
  const Stmt store = evaluator.store_output(frame.output, index, evaluator.value(output, index));
  nest.offset = store.index;
  nest.value = store.value;
  return nest;
}

// Whether a piece of the output Concat that begins at `begin` fills whole blocks of its layout.
bool fills_blocks(const Task& task, NodeId piece, int64_t begin) {
  const int64_t block = task.schedule.buffer(task.region.output).layout.channel_block;
  if (block == 1 || task.node(task.region.output).as<ir::ConcatAttrs>().axis != 1) return true;
  return begin % block == 0 && task.type(piece).shape[1] % block == 0;
}

// Whether a piece's channels lie in the same places of blocks as in the output, where they are
// `begin` and those behind it.
bool has_same_places(const Task& task, NodeId piece, int64_t begin) {
  int64_t source_begin = 0;
  if (!task.has_buffer(piece)) {
    const ir::Node& node = task.node(piece);
    if (node.op != ir::Op::kSlice || !task.has_buffer(node.inputs[0])) return false;
    const auto& slice = node.as<ir::SliceAttrs>();
    if (slice.step[1] != 1) return false;
    source_begin = slice.begin[1];
    piece = node.inputs[0];
  }
  const schedule::Layout& layout = task.schedule.buffer(task.region.output).layout;
  return task.schedule.buffer(piece).layout == layout &&
         (begin - source_begin) % layout.channel_block == 0;
}

// The output Concat, operand by operand. What is no whole blocks of channels is stored one channel
// after the other; where they only begin and end within blocks, as they do in memory, these alone.
void add_concat_parts(Frame& frame, Evaluator& evaluator, std::vector<Part>& parts) {
  const Task& task = frame.task;
  const ir::Node& concat = task.node(task.region.output);
  const auto axis = static_cast<size_t>(concat.as<ir::ConcatAttrs>().axis);
  const schedule::Layout layout = task.schedule.buffer(task.region.output).layout;
  const int64_t block = layout.channel_block;
  int64_t begin = 0;
  for (size_t i = 0; i < concat.inputs.size(); ++i) {
    const NodeId operand = concat.inputs[i];
    const int64_t count = task.type(operand).shape[axis];
    const auto add = [&](int64_t first, int64_t end, schedule::Layout order) {
      if (first >= end) return;
      parts.push_back(
          make_part(frame, concat_piece(frame, evaluator, {i, begin, first, end - first}, order)));
    };
    if (task.type(operand).elements() == 0) continue;
    if (fills_blocks(task, operand, begin)) {
      add(0, count, layout);
    } else if (has_same_places(task, operand, begin)) {
      const int64_t head = std::min(count, (block - begin % block) % block);
      const int64_t tail = (count - head) % block;
      add(0, head, {});
      add(head, count - tail, layout);
      add(count - tail, count, {});
    } else {
      add(0, count, {});
    }
    begin += count;
  }
}

// The output Pad: columns before, inside and behind.
void add_pad_parts(Frame& frame, Evaluator& evaluator, std::vector<Part>& parts) {
  const ir::Node& pad = frame.task.node(frame.task.region.output);
  const int64_t before = pad.as<ir::PadAttrs>().before.back();
  const int64_t after = pad.as<ir::PadAttrs>().after.back();
  int64_t begin = 0;
  for (const int64_t count : {before, pad.type.shape.back() - before - after, after}) {
    if (count > 0) parts.push_back(make_part(frame, pad_piece(frame, evaluator, begin, count)));
    begin += count;
  }
}

bool splits_columns(const Task& task) {
  const ir::Node& node = task.node(task.region.output);
  if (node.op != ir::Op::kPad || node.type.elements() == 0) return false;
  const auto& pad = node.as<ir::PadAttrs>();
  return pad.before.back() > 0 || pad.after.back() > 0;
}

// Is the output written piece by piece? An image is written by whole texels.
bool splits_into_pieces(const Task& task) {
  const ir::Node& node = task.node(task.region.output);
  if (node.op != ir::Op::kConcat) return false;
  if (task.schedule.buffer(task.region.output).layout.row_texels == 0) return true;
  const auto axis = static_cast<size_t>(node.as<ir::ConcatAttrs>().axis);
  int64_t begin = 0;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](NodeId piece) {
    const int64_t at = begin;
    begin += task.type(piece).shape[axis];
    return fills_blocks(task, piece, at);
  });
}

}  // namespace

bool matches_elementwise(const Task& task) {
  return task.region.root == ir::kNoNode;
}

std::vector<Knobs> knobs_elementwise(const Task& task) {
  Knobs knobs;
  knobs.lanes = task.target.lanes(ir::DType::kFloat32);
  knobs.pixels = knobs.vectors = knobs.unroll = 1;
  return {knobs};
}

LoweredKernel emit_elementwise(const Task& task, const Knobs& knobs) {
  Frame frame(task, "elementwise", knobs);
  Kernel& kernel = frame.kernel();
  Evaluator evaluator(kernel, task, frame.arrays);
  std::vector<Part> parts;
  if (splits_into_pieces(task)) {
    add_concat_parts(frame, evaluator, parts);
  } else if (splits_columns(task)) {
    add_pad_parts(frame, evaluator, parts);
  } else if (task.type(task.region.output).elements() > 0) {
    parts.push_back(make_part(frame, whole_output(frame, evaluator)));
  }
  int64_t total = 0;
  for (const Part& part : parts) total += part.extent;
  if (parts.size() == 1) {
    set_thread_loop(kernel, total, parts[0].body);
    return std::move(frame.lowered);
  }
  // The pieces follow each other in the thread loop.
  set_thread_loop(kernel, total, [&](ExprId t) {
    std::vector<Stmt> body;
    int64_t begin = 0;
    for (const auto& [extent, part] : parts) {
      const ir::VarId at = kernel.add_loop_var("p", 0, extent - 1);
      const ExprId here =
          kernel.binary(KOp::kAnd, kernel.binary(KOp::kLe, kernel.int_const(begin), t),
                        kernel.binary(KOp::kLt, t, kernel.int_const(begin + extent)));
      const ExprId first = kernel.add(t, -begin);
      std::vector<Stmt> once = {
          ir::make_for(at, first, kernel.add(first, 1), LoopKind::kSerial, part(kernel.var(at)))};
      body.push_back(ir::make_if(here, std::move(once)));
      begin += extent;
    }
    return body;
  });
  return std::move(frame.lowered);
}

}  // namespace camshaft::lower
