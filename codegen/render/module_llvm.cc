// SPDX-License-Identifier: MIT
#include "codegen/render/module_llvm.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Verifier.h>

#include <string>

#include "codegen/render/amx.h"
#include "codegen/render/target_info.h"
#include "codegen/render/values_llvm.h"
#include "codegen/render/walk.h"

namespace camshaft::render {

namespace {

using ir::ArrayId;
using ir::Kernel;
using ir::Stmt;
using llvm::BasicBlock;
using llvm::Function;
using llvm::Value;

// Attributes of every function: no libm, no libc, nothing that needs a runtime.
llvm::AttrBuilder function_attributes(llvm::LLVMContext& context, const CpuTarget& target) {
  llvm::AttrBuilder attributes(context);
  attributes.addAttribute(llvm::Attribute::NoUnwind);
  attributes.addAttribute(llvm::Attribute::NoRecurse);
  attributes.addAttribute(llvm::Attribute::NoFree);
  attributes.addAttribute(llvm::Attribute::MustProgress);
  attributes.addAttribute("no-builtins");
  attributes.addAttribute("frame-pointer", "none");
  attributes.addAttribute("no-trapping-math", "true");
  // Workers flush denormals; folding must not assume that they don't.
  attributes.addAttribute("denormal-fp-math", "dynamic,dynamic");
  attributes.addAttribute("target-cpu", base_cpu(target));
  attributes.addAttribute("tune-cpu", tune_cpu(target));
  attributes.addAttribute("target-features", llvm_features(target));
  attributes.addAttribute("prefer-vector-width", std::to_string(target.vector_bytes * 8));
  return attributes;
}

class KernelBuilder {
 public:
  KernelBuilder(const Kernel& kernel, const CpuTarget& target, llvm::Module& module)
      : kernel_(kernel),
        target_(target),
        module_(module),
        context_(module.getContext()),
        builder_(context_),
        attributes_(function_attributes(context_, target)) {}

  void build() {
    Function* body = declare_body();
    builder_.SetInsertPoint(BasicBlock::Create(context_, "entry", body));
    ValueBuilder values(kernel_, target_, builder_, array_pointers(body));
    values_ = &values;
    guard_empty_range();
    configure_matrices();
    build_stmts(kernel_.body);
    if (has_matrices()) builder_.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {});
    builder_.CreateRetVoid();
    build_entry(body);
  }

 private:
  Function* declare_body();
  void add_param_attributes(Function* body);
  std::vector<Value*> array_pointers(Function* body);
  void guard_empty_range();
  bool has_matrices() const { return !kernel_.matrices().empty(); }
  void configure_matrices();
  void build_matrix(const Stmt& stmt);
  void build_entry(Function* body);
  void build_stmts(const std::vector<Stmt>& body);
  void build_for(const Stmt& stmt);
  void build_if(const Stmt& stmt);
  llvm::Type* pointer() { return llvm::PointerType::getUnqual(context_); }
  llvm::Type* i64() { return llvm::Type::getInt64Ty(context_); }

  const Kernel& kernel_;
  const CpuTarget& target_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> builder_;
  llvm::AttrBuilder attributes_;
  ValueBuilder* values_ = nullptr;
  Value* begin_ = nullptr;
  Value* end_ = nullptr;
};

Function* KernelBuilder::declare_body() {
  std::vector<llvm::Type*> types(static_cast<size_t>(kernel_.param_count()), pointer());
  types.insert(types.end(), 2, i64());
  auto* type = llvm::FunctionType::get(builder_.getVoidTy(), types, false);
  Function* body =
      Function::Create(type, Function::InternalLinkage, kernel_.name + ".body", module_);
  body->addFnAttrs(attributes_);
  body->addFnAttr(llvm::Attribute::NoInline);
  add_param_attributes(body);
  begin_ = body->getArg(static_cast<unsigned>(kernel_.param_count()));
  end_ = body->getArg(static_cast<unsigned>(kernel_.param_count()) + 1);
  begin_->setName("begin");
  end_->setName("end");
  return body;
}

// A pair that may be the same memory is not noalias.
void KernelBuilder::add_param_attributes(Function* body) {
  for (ArrayId id = 0; id < kernel_.param_count(); ++id) {
    const ir::Array& array = kernel_.array(id);
    const auto number = static_cast<unsigned>(id);
    bool is_restrict = array.may_alias < 0;
    for (const ir::Array& other : kernel_.arrays()) is_restrict &= other.may_alias != id;
    body->getArg(number)->setName(array.name);
    if (is_restrict) body->addParamAttr(number, llvm::Attribute::NoAlias);
    if (!array.writable) body->addParamAttr(number, llvm::Attribute::ReadOnly);
    body->addParamAttr(number, llvm::Attribute::NoUndef);
    body->addParamAttr(number, llvm::Attribute::getWithAlignment(
                                   context_, llvm::Align(uint64_t{kArrayAlignment})));
  }
}

std::vector<Value*> KernelBuilder::array_pointers(Function* body) {
  std::vector<Value*> pointers;
  for (ArrayId id = 0; id < static_cast<ArrayId>(kernel_.arrays().size()); ++id) {
    const ir::Array& array = kernel_.array(id);
    if (array.kind == ir::ArrayKind::kParam) {
      pointers.push_back(body->getArg(static_cast<unsigned>(id)));
      continue;
    }
    auto* type = llvm::ArrayType::get(memory_type(context_, array.dtype),
                                      static_cast<uint64_t>(array.elements));
    llvm::AllocaInst* local = builder_.CreateAlloca(type, nullptr, array.name);
    local->setAlignment(llvm::Align(uint64_t{kArrayAlignment}));
    pointers.push_back(local);
  }
  return pointers;
}

// Without a thread loop the whole kernel is one iteration.
void KernelBuilder::guard_empty_range() {
  if (has_thread_loop(kernel_)) return;
  Function* function = builder_.GetInsertBlock()->getParent();
  BasicBlock* empty = BasicBlock::Create(context_, "empty", function);
  BasicBlock* work = BasicBlock::Create(context_, "work", function);
  builder_.CreateCondBr(builder_.CreateICmpSLT(begin_, end_), work, empty);
  builder_.SetInsertPoint(empty);
  builder_.CreateRetVoid();
  builder_.SetInsertPoint(work);
}

void KernelBuilder::configure_matrices() {
  if (!has_matrices()) return;
  const auto bytes = amx_configuration(kernel_);
  llvm::Constant* shapes = llvm::ConstantDataArray::get(context_, bytes);
  auto* global = new llvm::GlobalVariable(module_, shapes->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::PrivateLinkage, shapes, "shapes");
  global->setAlignment(llvm::Align(bytes.size()));
  builder_.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {global});
}

void KernelBuilder::build_matrix(const Stmt& stmt) {
  const ir::MatrixStep& step = stmt.matrix;
  const auto number = [&](ir::MatrixId id) { return builder_.getInt8(static_cast<uint8_t>(id)); };
  const auto move = [&](llvm::Intrinsic::ID intrinsic) {
    const int64_t pitch = step.pitch * base::dtype_size_bytes(kernel_.array(stmt.array).dtype);
    builder_.CreateIntrinsic(intrinsic, {},
                             {number(step.matrix), values_->address(stmt.array, stmt.index),
                              builder_.getInt64(static_cast<uint64_t>(pitch))});
  };
  switch (step.op) {
    case ir::MatrixOp::kClear:
      builder_.CreateIntrinsic(llvm::Intrinsic::x86_tilezero, {}, {number(step.matrix)});
      break;
    case ir::MatrixOp::kLoad:
      move(llvm::Intrinsic::x86_tileloadd64);
      break;
    case ir::MatrixOp::kStore:
      move(llvm::Intrinsic::x86_tilestored64);
      break;
    case ir::MatrixOp::kMultiply:
      builder_.CreateIntrinsic(llvm::Intrinsic::x86_tdpbf16ps, {},
                               {number(step.matrix), number(step.a), number(step.b)});
      break;
  }
}

void KernelBuilder::build_entry(Function* body) {
  auto* type = llvm::FunctionType::get(builder_.getVoidTy(), {pointer(), i64(), i64()}, false);
  Function* entry = Function::Create(type, Function::ExternalLinkage, kernel_.name, module_);
  entry->addFnAttrs(attributes_);
  builder_.SetInsertPoint(BasicBlock::Create(context_, "entry", entry));
  entry->getArg(0)->setName("params");
  entry->getArg(1)->setName("begin");
  entry->getArg(2)->setName("end");
  std::vector<Value*> arguments;
  for (int i = 0; i < kernel_.param_count(); ++i) {
    Value* place =
        builder_.CreateConstInBoundsGEP1_64(pointer(), entry->getArg(0), static_cast<uint64_t>(i));
    arguments.push_back(builder_.CreateLoad(pointer(), place));
  }
  arguments.push_back(entry->getArg(1));
  arguments.push_back(entry->getArg(2));
  builder_.CreateCall(body, arguments);
  builder_.CreateRetVoid();
}

void KernelBuilder::build_stmts(const std::vector<Stmt>& body) {
  for (const Stmt& stmt : body) {
    values_->begin_stmt({stmt.begin, stmt.end, stmt.condition, stmt.index, stmt.value});
    switch (stmt.kind) {
      case ir::StmtKind::kFor:
        build_for(stmt);
        break;
      case ir::StmtKind::kIf:
        build_if(stmt);
        break;
      case ir::StmtKind::kLet:
        values_->set_var(stmt.var, values_->value(stmt.value));
        break;
      case ir::StmtKind::kStore:
        values_->store(stmt.array, stmt.index, stmt.value);
        break;
      case ir::StmtKind::kPrefetch:
        values_->prefetch(stmt.array, stmt.index);
        break;
      case ir::StmtKind::kMatrix:
        build_matrix(stmt);
        break;
      case ir::StmtKind::kBarrier:
      case ir::StmtKind::kStoreTexel:
        CAMSHAFT_CHECK(false && "refused by check_renderable");
    }
  }
}

void KernelBuilder::build_for(const Stmt& stmt) {
  const bool is_thread = stmt.loop == ir::LoopKind::kThread;
  Value* first = is_thread ? begin_ : values_->value(stmt.begin);
  Value* last = is_thread ? end_ : values_->value(stmt.end);
  Function* function = builder_.GetInsertBlock()->getParent();
  const std::string name = kernel_.var_info(stmt.var).name;
  BasicBlock* before = builder_.GetInsertBlock();
  BasicBlock* head = BasicBlock::Create(context_, name + ".head", function);
  BasicBlock* body = BasicBlock::Create(context_, name + ".body", function);
  BasicBlock* after = BasicBlock::Create(context_, name + ".end", function);
  builder_.CreateBr(head);

  builder_.SetInsertPoint(head);
  llvm::PHINode* counter = builder_.CreatePHI(i64(), 2, name);
  counter->addIncoming(first, before);
  builder_.CreateCondBr(builder_.CreateICmpSLT(counter, last), body, after);

  builder_.SetInsertPoint(body);
  values_->set_var(stmt.var, counter);
  build_stmts(stmt.body);
  Value* next = builder_.CreateAdd(counter, builder_.getInt64(1), "", false, /*HasNSW=*/true);
  counter->addIncoming(next, builder_.GetInsertBlock());
  builder_.CreateBr(head);
  builder_.SetInsertPoint(after);
}

void KernelBuilder::build_if(const Stmt& stmt) {
  Function* function = builder_.GetInsertBlock()->getParent();
  BasicBlock* then = BasicBlock::Create(context_, "then", function);
  BasicBlock* after = BasicBlock::Create(context_, "endif", function);
  builder_.CreateCondBr(values_->value(stmt.condition), then, after);
  builder_.SetInsertPoint(then);
  build_stmts(stmt.body);
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

}  // namespace

std::string llvm_features(const CpuTarget& target) {
  // LLVM 19 asks for evex512 before it uses 512-bit registers.
  return target.features + (has_feature(target, "avx512f") ? ",+evex512" : "");
}

std::unique_ptr<llvm::Module> build_module(const std::vector<const Kernel*>& kernels,
                                           const CpuTarget& target, llvm::LLVMContext& context) {
  auto module = std::make_unique<llvm::Module>("kernels", context);
  module->setTargetTriple(target.triple);
  module->setPICLevel(llvm::PICLevel::BigPIC);
  for (const Kernel* kernel : kernels) KernelBuilder(*kernel, target, *module).build();
  const bool is_broken = llvm::verifyModule(*module, &llvm::errs());
  CAMSHAFT_CHECK(!is_broken);
  return module;
}

}  // namespace camshaft::render
