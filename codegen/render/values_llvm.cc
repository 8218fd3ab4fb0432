// SPDX-License-Identifier: MIT
#include "codegen/render/values_llvm.h"

#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <numeric>

namespace camshaft::render {

namespace {

using ir::DType;
using ir::Expr;
using ir::ExprId;
using ir::KOp;
using ir::ValueType;
using llvm::Value;

bool is_signed(DType dtype) {
  return base::is_signed_int(dtype);
}

llvm::Type* scalar_type(llvm::LLVMContext& context, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return llvm::Type::getFloatTy(context);
    case DType::kFloat64:
      return llvm::Type::getDoubleTy(context);
    case DType::kFloat16:
      return llvm::Type::getHalfTy(context);
    case DType::kBool:
      return llvm::Type::getInt1Ty(context);
    default:
      return llvm::IntegerType::get(context,
                                    static_cast<unsigned>(base::dtype_size_bytes(dtype)) * 8);
  }
}

llvm::Type* with_lanes(llvm::Type* scalar, int32_t lanes) {
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, static_cast<unsigned>(lanes));
}

llvm::SmallVector<int> range(int begin, int count) {
  llvm::SmallVector<int> result(static_cast<size_t>(count));
  std::iota(result.begin(), result.end(), begin);
  return result;
}

}  // namespace

llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype) {
  return dtype == DType::kBool ? llvm::Type::getInt8Ty(context) : scalar_type(context, dtype);
}

ValueBuilder::ValueBuilder(const ir::Kernel& kernel, const CpuTarget& target,
                           llvm::IRBuilder<>& builder, std::vector<Value*> arrays)
    : kernel_(kernel),
      target_(target),
      builder_(builder),
      order_(kernel),
      arrays_(std::move(arrays)) {
  vars_.resize(kernel.vars().size());
  values_.resize(static_cast<size_t>(kernel.expr_count()));
}

llvm::Type* ValueBuilder::type_of(ValueType type) const {
  return with_lanes(scalar_type(builder_.getContext(), type.dtype), type.lanes);
}

llvm::Type* ValueBuilder::memory_type_of(ValueType type) const {
  return with_lanes(memory_type(builder_.getContext(), type.dtype), type.lanes);
}

void ValueBuilder::begin_stmt(const std::vector<ExprId>& roots) {
  for (const ExprId id : order_.list(roots)) values_[static_cast<size_t>(id)] = build(expr(id));
}

Value* ValueBuilder::address(ir::ArrayId array, Value* index) {
  const DType dtype = kernel_.array(array).dtype;
  return builder_.CreateInBoundsGEP(memory_type_of({dtype, 1}), arrays_[static_cast<size_t>(array)],
                                    index);
}

Value* ValueBuilder::from_memory(Value* loaded, ValueType type) {
  return type.dtype == DType::kBool ? builder_.CreateIsNotNull(loaded) : loaded;
}

void ValueBuilder::store(ir::ArrayId array, ExprId index, ExprId value_id) {
  const ValueType type = expr(value_id).type;
  Value* stored = value(value_id);
  if (type.dtype == DType::kBool) stored = builder_.CreateZExt(stored, memory_type_of(type));
  if (expr(index).type.lanes == 1) {
    const auto alignment = static_cast<uint64_t>(access_alignment(kernel_, index, type));
    builder_.CreateAlignedStore(stored, address(array, value(index)), llvm::Align(alignment));
    return;
  }
  const llvm::Align alignment(static_cast<uint64_t>(base::dtype_size_bytes(type.dtype)));
  for (uint64_t lane = 0; lane < static_cast<uint64_t>(type.lanes); ++lane) {
    builder_.CreateAlignedStore(builder_.CreateExtractElement(stored, lane),
                                address(array, builder_.CreateExtractElement(value(index), lane)),
                                alignment);
  }
}

void ValueBuilder::prefetch(ir::ArrayId array, ExprId index) {
  Value* place = address(array, value(index));
  builder_.CreateIntrinsic(
      llvm::Intrinsic::prefetch, {place->getType()},
      {place, builder_.getInt32(0), builder_.getInt32(kPrefetchLocality), builder_.getInt32(1)});
}

Value* ValueBuilder::build(const Expr& e) {
  switch (e.op) {
    case KOp::kIntConst:
    case KOp::kFloatConst:
      return build_const(e);
    case KOp::kVar:
      return vars_[static_cast<size_t>(e.int_value)];
    case KOp::kLoad:
      return build_load(e);
    case KOp::kBroadcast:
      return builder_.CreateVectorSplat(static_cast<unsigned>(e.type.lanes), arg(e, 0));
    case KOp::kRamp:
      return build_ramp(e);
    case KOp::kReduceAdd:
    case KOp::kReduceMax:
    case KOp::kReduceMin:
      return build_reduce(e);
    case KOp::kMin:
    case KOp::kMax:
      return build_min_max(e.op == KOp::kMax, e.type.dtype, arg(e, 0), arg(e, 1));
    case KOp::kEq:
    case KOp::kLt:
    case KOp::kLe:
      return build_compare(e.op, expr(e.args[0]).type.dtype, arg(e, 0), arg(e, 1));
    case KOp::kSelect:
      return builder_.CreateSelect(arg(e, 0), arg(e, 1), arg(e, 2));
    case KOp::kCast:
      return build_cast(e);
    case KOp::kDot:
      return build_dot(e);
    case KOp::kBitcast:
      return builder_.CreateBitCast(arg(e, 0), type_of(e.type));
    case KOp::kFma:
    case KOp::kAbs:
    case KOp::kNeg:
    case KOp::kSqrt:
    case KOp::kFloor:
    case KOp::kCeil:
    case KOp::kRound:
      return build_math(e);
    default:
      return build_arithmetic(e);
  }
}

Value* ValueBuilder::build_const(const Expr& e) {
  if (e.op == KOp::kFloatConst) {
    if (e.type.dtype == DType::kFloat32) {
      return llvm::ConstantFP::get(builder_.getContext(),
                                   llvm::APFloat(static_cast<float>(e.float_value)));
    }
    return llvm::ConstantFP::get(builder_.getContext(), llvm::APFloat(e.float_value));
  }
  return llvm::ConstantInt::get(type_of(e.type), static_cast<uint64_t>(e.int_value),
                                is_signed(e.type.dtype));
}

Value* ValueBuilder::build_load(const Expr& e) {
  const ExprId index = e.args[0];
  if (expr(index).type.lanes == 1) {
    const auto alignment = static_cast<uint64_t>(access_alignment(kernel_, index, e.type));
    return from_memory(
        builder_.CreateAlignedLoad(memory_type_of(e.type), address(e.array, value(index)),
                                   llvm::Align(alignment)),
        e.type);
  }
  const std::optional<StridedLoad> strided = strided_load(kernel_, e);
  return from_memory(strided ? build_strided(e, *strided) : build_gather(e), e.type);
}

Value* ValueBuilder::build_strided(const Expr& e, const StridedLoad& load) {
  const llvm::Align alignment(static_cast<uint64_t>(base::dtype_size_bytes(e.type.dtype)));
  Value* result = nullptr;
  for (size_t chunk = 0; chunk < load.chunks.size(); ++chunk) {
    Value* index = builder_.CreateAdd(value(load.base),
                                      builder_.getInt64(static_cast<uint64_t>(load.chunks[chunk])));
    Value* part = builder_.CreateAlignedLoad(memory_type_of({e.type.dtype, load.chunk_lanes}),
                                             address(e.array, index), alignment);
    result = builder_.CreateShuffleVector(chunk == 0 ? part : result, part, load.masks[chunk]);
  }
  return result;
}

Value* ValueBuilder::build_gather(const Expr& e) {
  const llvm::Align alignment(static_cast<uint64_t>(base::dtype_size_bytes(e.type.dtype)));
  llvm::Type* element = memory_type_of({e.type.dtype, 1});
  const ExprId index = e.args[0];
  Value* gathered = llvm::PoisonValue::get(memory_type_of(e.type));
  for (uint64_t lane = 0; lane < static_cast<uint64_t>(e.type.lanes); ++lane) {
    Value* place = address(e.array, builder_.CreateExtractElement(value(index), lane));
    Value* loaded = builder_.CreateAlignedLoad(element, place, alignment);
    gathered = builder_.CreateInsertElement(gathered, loaded, lane);
  }
  return gathered;
}

Value* ValueBuilder::build_ramp(const Expr& e) {
  llvm::SmallVector<uint64_t> steps(static_cast<size_t>(e.type.lanes));
  std::iota(steps.begin(), steps.end(), 0);
  Value* lane_numbers = llvm::ConstantDataVector::get(builder_.getContext(), steps);
  const auto lanes = static_cast<unsigned>(e.type.lanes);
  Value* offsets = builder_.CreateMul(lane_numbers, builder_.CreateVectorSplat(lanes, arg(e, 1)));
  return builder_.CreateAdd(builder_.CreateVectorSplat(lanes, arg(e, 0)), offsets);
}

Value* ValueBuilder::build_reduce(const Expr& e) {
  Value* whole = arg(e, 0);
  for (int lanes = expr(e.args[0]).type.lanes / 2; lanes >= 1; lanes /= 2) {
    Value* low = builder_.CreateShuffleVector(whole, range(0, lanes));
    Value* high = builder_.CreateShuffleVector(whole, range(lanes, lanes));
    if (e.op == KOp::kReduceAdd) {
      whole = base::is_float(e.type.dtype) ? builder_.CreateFAdd(low, high)
                                           : builder_.CreateAdd(low, high);
    } else {
      whole = build_min_max(e.op == KOp::kReduceMax, e.type.dtype, low, high);
    }
  }
  return builder_.CreateExtractElement(whole, uint64_t{0});
}

Value* ValueBuilder::build_arithmetic(const Expr& e) {
  Value* a = arg(e, 0);
  Value* b = arg(e, 1);
  const bool is_float = base::is_float(e.type.dtype);
  const bool is_signed_int = is_signed(e.type.dtype);
  switch (e.op) {
    case KOp::kAdd:
      return is_float ? builder_.CreateFAdd(a, b) : builder_.CreateAdd(a, b);
    case KOp::kSub:
      return is_float ? builder_.CreateFSub(a, b) : builder_.CreateSub(a, b);
    case KOp::kMul:
      return is_float ? builder_.CreateFMul(a, b) : builder_.CreateMul(a, b);
    case KOp::kDiv:
      if (is_float) return builder_.CreateFDiv(a, b);
      return is_signed_int ? builder_.CreateSDiv(a, b) : builder_.CreateUDiv(a, b);
    case KOp::kRem:
      return is_signed_int ? builder_.CreateSRem(a, b) : builder_.CreateURem(a, b);
    case KOp::kAnd:
      return builder_.CreateAnd(a, b);
    case KOp::kOr:
      return builder_.CreateOr(a, b);
    case KOp::kXor:
      return builder_.CreateXor(a, b);
    case KOp::kShl:
      return builder_.CreateShl(a, b);
    case KOp::kShr:
      return is_signed_int ? builder_.CreateAShr(a, b) : builder_.CreateLShr(a, b);
    default:
      CAMSHAFT_CHECK(false && "refused by check_renderable");
      return nullptr;
  }
}

Value* ValueBuilder::build_compare(KOp op, DType dtype, Value* a, Value* b) {
  if (base::is_float(dtype)) {
    return op == KOp::kEq   ? builder_.CreateFCmpOEQ(a, b)
           : op == KOp::kLt ? builder_.CreateFCmpOLT(a, b)
                            : builder_.CreateFCmpOLE(a, b);
  }
  if (op == KOp::kEq) return builder_.CreateICmpEQ(a, b);
  if (is_signed(dtype)) {
    return op == KOp::kLt ? builder_.CreateICmpSLT(a, b) : builder_.CreateICmpSLE(a, b);
  }
  return op == KOp::kLt ? builder_.CreateICmpULT(a, b) : builder_.CreateICmpULE(a, b);
}

Value* ValueBuilder::build_min_max(bool is_max, DType dtype, Value* a, Value* b) {
  Value* is_first =
      is_max ? build_compare(KOp::kLt, dtype, b, a) : build_compare(KOp::kLt, dtype, a, b);
  return builder_.CreateSelect(is_first, a, b);
}

Value* ValueBuilder::build_cast(const Expr& e) {
  Value* a = arg(e, 0);
  const DType from = expr(e.args[0]).type.dtype;
  const DType to = e.type.dtype;
  llvm::Type* type = type_of(e.type);
  if (to == DType::kBool) {
    if (from == DType::kBool) return a;
    if (!base::is_float(from)) return builder_.CreateIsNotNull(a);
    return builder_.CreateFCmpUNE(a, llvm::Constant::getNullValue(a->getType()));
  }
  if (base::is_float(from)) {
    if (to == DType::kBFloat16) {
      llvm::Type* half = llvm::Type::getBFloatTy(builder_.getContext());
      return builder_.CreateBitCast(builder_.CreateFPTrunc(a, with_lanes(half, e.type.lanes)),
                                    type);
    }
    if (base::is_float(to)) return builder_.CreateFPCast(a, type);
    return is_signed(to) ? builder_.CreateFPToSI(a, type) : builder_.CreateFPToUI(a, type);
  }
  if (base::is_float(to)) {
    return is_signed(from) ? builder_.CreateSIToFP(a, type) : builder_.CreateUIToFP(a, type);
  }
  return builder_.CreateIntCast(a, type, is_signed(from));
}

namespace {

// The sums of neighbouring products of lanes of 16 bits: a register of `lanes` words.
llvm::Intrinsic::ID pair_sums(int32_t lanes) {
  return lanes == 4   ? llvm::Intrinsic::x86_sse2_pmadd_wd
         : lanes == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                      : llvm::Intrinsic::x86_avx512_pmaddw_d_512;
}

llvm::Intrinsic::ID vnni_dot(int32_t lanes) {
  return lanes == 4   ? llvm::Intrinsic::x86_avx512_vpdpbusd_128
         : lanes == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                      : llvm::Intrinsic::x86_avx512_vpdpbusd_512;
}

}  // namespace

Value* ValueBuilder::build_dot(const Expr& e) {
  Value* sum = arg(e, 0);
  const DotForm form = dot_form(target_, e.type.lanes);
  if (form == DotForm::kVnni) {
    return builder_.CreateIntrinsic(vnni_dot(e.type.lanes), {}, {sum, arg(e, 1), arg(e, 2)});
  }
  const auto as = [&](Value* words, unsigned bits) {
    return builder_.CreateBitCast(
        words, llvm::FixedVectorType::get(builder_.getIntNTy(bits),
                                          static_cast<unsigned>(e.type.lanes) * 32 / bits));
  };
  if (form == DotForm::kPairs) {
    Value* a = as(arg(e, 1), 16);
    Value* b = as(arg(e, 2), 16);
    const auto number = [&](uint64_t value) { return llvm::ConstantInt::get(a->getType(), value); };
    Value* even = builder_.CreateIntrinsic(
        pair_sums(e.type.lanes), {},
        {builder_.CreateAnd(a, number(0xff)),
         builder_.CreateAShr(builder_.CreateShl(b, number(8)), number(8))});
    Value* odd = builder_.CreateIntrinsic(
        pair_sums(e.type.lanes), {},
        {builder_.CreateLShr(a, number(8)), builder_.CreateAShr(b, number(8))});
    return builder_.CreateAdd(sum, builder_.CreateAdd(even, odd));
  }
  Value* a = as(arg(e, 1), 8);
  Value* b = as(arg(e, 2), 8);
  const auto dot = [&](llvm::Intrinsic::ID intrinsic, Value* to, Value* left) {
    return builder_.CreateIntrinsic(intrinsic, {to->getType(), b->getType()}, {to, left, b});
  };
  if (form == DotForm::kUsdot) return dot(llvm::Intrinsic::aarch64_neon_usdot, sum, a);
  CAMSHAFT_CHECK(form == DotForm::kSdot);
  // 128 is no i8: twice 64.
  Value* half = llvm::ConstantInt::get(a->getType(), 64);
  Value* offset =
      dot(llvm::Intrinsic::aarch64_neon_sdot, llvm::Constant::getNullValue(sum->getType()), half);
  offset = dot(llvm::Intrinsic::aarch64_neon_sdot, offset, half);
  Value* shifted = builder_.CreateXor(a, llvm::ConstantInt::get(a->getType(), 0x80));
  return dot(llvm::Intrinsic::aarch64_neon_sdot, builder_.CreateAdd(sum, offset), shifted);
}

Value* ValueBuilder::build_math(const Expr& e) {
  llvm::Intrinsic::ID intrinsic = llvm::Intrinsic::not_intrinsic;
  switch (e.op) {
    case KOp::kNeg:
      return builder_.CreateFNeg(arg(e, 0));
    case KOp::kFma:
      return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {type_of(e.type)},
                                      {arg(e, 0), arg(e, 1), arg(e, 2)});
    case KOp::kAbs:
      intrinsic = llvm::Intrinsic::fabs;
      break;
    case KOp::kSqrt:
      intrinsic = llvm::Intrinsic::sqrt;
      break;
    case KOp::kFloor:
      intrinsic = llvm::Intrinsic::floor;
      break;
    case KOp::kCeil:
      intrinsic = llvm::Intrinsic::ceil;
      break;
    default:
      intrinsic = llvm::Intrinsic::roundeven;
      break;
  }
  return builder_.CreateUnaryIntrinsic(intrinsic, arg(e, 0));
}

}  // namespace camshaft::render
