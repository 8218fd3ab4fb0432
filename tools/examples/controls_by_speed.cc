// SPDX-License-Identifier: MIT
// A process between messages: it reads vehicleState and answers each with controls that brake as
// the vehicle comes to 30 m/s. Ends after as many as its argument says, or never.
#include <cstdio>
#include <cstdlib>

#include "msgq/services/pub_master.h"
#include "msgq/services/sub_master.h"
#include "msgq/transport/shared_memory.h"
#include "runtime/base/log_ring.h"

namespace {

using namespace camshaft;

int fail(const char* what) {
  char why[base::kLogLineBytes];  // the sentence that belongs to the last failed Status
  base::last_failure(why);
  std::fprintf(stderr, "%s: %s\n", what, why);
  return 1;
}

schema::Controls decide(const schema::VehicleState& state) {
  const float over = state.speed_mps - 25;
  schema::Controls controls;
  controls.engaged = true;
  controls.brake = over > 0 ? over / 5 : 0;
  return controls;
}

}  // namespace

int main(int argc, char** argv) {
  long left = argc > 1 ? std::atol(argv[1]) : -1;
  transport::SharedMemory transport;
  const std::string_view outputs[] = {"controls"};
  const services::Subscription inputs[] = {{"vehicleState"}};
  auto out = services::PubMaster::open(transport, outputs);
  if (!out) return fail("controls can't be published");
  auto in = services::SubMaster::open(transport, inputs, {.name = "controls_by_speed"});
  if (!in) return fail("vehicleState can't be read");
  while (left != 0) {
    const base::Status updated = in->update(transport.now_ns() + 1'000'000'000);
    if (!updated.is_ok() && updated.code() != base::Code::kDeadlineExceeded) return fail("update");
    if (!in->all_ok()) std::fprintf(stderr, "%s\n", in->complaint().c_str());
    const auto* const state = in->body<schema::VehicleState>("vehicleState");
    if (state == nullptr || !in->state("vehicleState").updated) continue;
    schema::Message answer;
    answer.valid = in->state("vehicleState").valid;
    answer.body = decide(*state);
    if (!answer.valid) answer.reason = "vehicleState is not valid";
    if (!out->send("controls", answer).is_ok()) return fail("controls can't be sent");
    left -= left > 0 ? 1 : 0;
  }
  return 0;
}
