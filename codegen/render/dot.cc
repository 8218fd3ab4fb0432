// SPDX-License-Identifier: MIT
#include "codegen/render/render.h"
#include "codegen/render/target_info.h"

namespace camshaft::render {

DotForm dot_form(const CpuTarget& target, int32_t lanes) {
  constexpr int32_t kRegisterLanes = 4;  // of the narrowest registers
  if (target.is_gpu || lanes < kRegisterLanes || lanes > target.lanes(ir::DType::kInt32)) {
    return DotForm::kNone;
  }
  if (!is_x86(target)) {
    return has_feature(target, "i8mm")      ? DotForm::kUsdot
           : has_feature(target, "dotprod") ? DotForm::kSdot
                                            : DotForm::kNone;
  }
  const bool has_avx512 = target.lanes(ir::DType::kInt32) == 16;
  if (has_avx512 && has_feature(target, "avx512vnni")) return DotForm::kVnni;
  if (!has_avx512 && has_feature(target, "avxvnni")) return DotForm::kVnni;
  return has_feature(target, "avx2") ? DotForm::kPairs : DotForm::kNone;
}

}  // namespace camshaft::render
