// SPDX-License-Identifier: MIT
// A plan whose outputs have extents that depend on data, and that says what its input tells it to:
//
//   inputs:  counts i64[2], exceeded u8[]; nothing f32[0,3]
//   run:     rows f32[4,5,6] = 1; rows.count = counts; flag = exceeded != 0
//   prepare: rows = 1
//   outputs: rows (axes 0 and 2 counted), rows.count i64[2], flag bool[], none f32[2,0]; bound n=4
#pragma once

#include "runtime/plan/writer.h"

namespace camshaft::test {

plan::PlanContents counted_plan();

}  // namespace camshaft::test
