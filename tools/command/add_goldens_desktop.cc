// SPDX-License-Identifier: MIT
#include "tools/command/add_goldens_desktop.h"

#include "runtime/plan/checksum.h"
#include "runtime/plan/reader.h"
#include "tools/command/golden.h"
#include "tools/command/input_options.h"
#include "tools/command/plan_runner.h"

namespace camshaft::command {
namespace {

using base::Result;
using base::Status;

void add_golden(const std::string& target, uint32_t inputs_section,
                const std::vector<io::Tensor>& outputs, plan::PlanContents& contents) {
  std::vector<std::byte> packed = pack_golden(outputs);
  const plan::Hash128 hash = plan::checksum(packed);
  const uint32_t outputs_section =
      contents.add_section(plan::SectionKind::kGoldenOutputs, std::move(packed));
  contents.info.goldens.push_back({target, inputs_section, outputs_section, hash.low, hash.high});
}

}  // namespace

Status add_goldens(const std::vector<std::string>& files, Console& console,
                   plan::PlanContents& contents) {
  InputOptions input_options;
  input_options.option = "--golden";
  input_options.files = files;
  CAMSHAFT_TRY_ASSIGN(const std::vector<io::Tensor> inputs,
                      load_inputs(contents.info.inputs, input_options));
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, plan::write_plan(contents));
  uint32_t inputs_section = 0;
  for (const plan::TargetInfo& target : contents.info.targets) {
    Result<std::vector<io::Tensor>> outputs = run_once(bytes, target.target, inputs);
    if (!outputs && outputs.error().code() == base::Code::kWrongTarget) {
      console.forget_sentences();
      console.note("no golden for " + target.target + ": this machine can't run it");
      continue;
    }
    CAMSHAFT_TRY(outputs);
    if (inputs_section == 0) {
      inputs_section = contents.add_section(plan::SectionKind::kGoldenInputs, pack_golden(inputs));
    }
    add_golden(target.target, inputs_section, *outputs, contents);
  }
  return base::ok();
}

}  // namespace camshaft::command
