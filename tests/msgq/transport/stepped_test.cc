// SPDX-License-Identifier: MIT
#include "msgq/transport/stepped.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <thread>

#include "runtime/base/clock.h"
#include "tests/support/last_sentence.h"

namespace camshaft::transport {
namespace {

using base::Code;

int64_t watchdog() {
  return base::mono_time_ns() + 60'000'000'000;
}

// A program that sums numbers up: what it says depends on when each message comes and on the clock.
void run_program(Transport& transport, const std::function<void()>& busy_work) {
  const auto in = std::move(*transport.open_receiver("number", {}));
  const auto out = std::move(*transport.open_sender("sum", {}));
  Receiver* const receivers[] = {in.get()};
  const auto waiter = std::move(*transport.make_waiter(receivers));
  int sum = 0;
  while (true) {
    const Status status = waiter->wait(transport.now_ns() + 100);
    if (status.code() == Code::kNotFound) return;
    busy_work();
    const auto received = in->receive();
    if (*received) {
      int number = 0;
      std::memcpy(&number, received->bytes.data(), sizeof number);
      sum += number;
    }
    const std::string text =
        std::to_string(transport.now_ns()) + (*received ? " got " : " late ") + std::to_string(sum);
    (void)out->send(base::as_bytes(std::string_view(text)));
    if (sum >= 100) return;
  }
}

std::vector<std::string> replay(const std::function<void()>& busy_work) {
  Stepped transport;
  std::thread program([&] {
    run_program(transport, busy_work);
    transport.finish();
  });
  std::vector<std::string> lines;
  for (int step = 1;; ++step) {
    const auto request = transport.next_request(watchdog());
    if (!request || request->is_finished) break;
    if (step % 3 == 0) {  // nothing comes: the program's deadline passes
      transport.set_now(request->deadline_ns);
    } else {
      transport.set_now(step * 10);
      (void)transport.deliver("number", std::as_bytes(std::span(&step, 1)));
    }
    transport.resume();
  }
  for (const Stepped::Sent& sent : transport.take_sent()) {
    lines.push_back(sent.topic + " " + std::to_string(sent.mono_time_ns) + " " +
                    std::string(base::as_text(sent.bytes)));
  }
  program.join();
  return lines;
}

}  // namespace

TEST_CASE("a stepped program says the same however long it takes") {
  const std::vector<std::string> quick = replay([] {});
  REQUIRE(quick.size() > 10);
  CHECK(quick[0] == "sum 10 10 got 1");
  CHECK(quick[1] == "sum 20 20 got 3");
  CHECK(quick[2] == "sum 120 120 late 3");
  CHECK(quick[3] == "sum 40 40 got 7");
  const std::vector<std::string> slow =
      replay([] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
  CHECK(slow == quick);
}

TEST_CASE("a driver sees what the program waits for") {
  Stepped transport;
  std::thread program([&] {
    const auto a = std::move(*transport.open_receiver("a", {}));
    const auto b = std::move(*transport.open_receiver("b", {}));
    Receiver* const receivers[] = {a.get(), b.get()};
    const auto waiter = std::move(*transport.make_waiter(receivers));
    for (int i = 0; i < 2; ++i) (void)waiter->wait(77);
    transport.finish();
  });
  auto request = transport.next_request(watchdog());
  REQUIRE(request.has_value());
  CHECK(request->number == 1);
  CHECK(request->deadline_ns == 77);
  CHECK(request->topics == std::vector<std::string>{"a", "b"});
  transport.resume();
  request = transport.next_request(watchdog());
  CHECK(request->number == 2);
  CHECK_FALSE(request->is_finished);
  transport.resume();
  CHECK(transport.next_request(watchdog())->is_finished);
  program.join();
}

TEST_CASE("a program that hangs is told to the driver, and can be stopped") {
  Stepped transport;
  CHECK(transport.next_request(base::mono_time_ns()).error().code() == Code::kDeadlineExceeded);
  CHECK(test::last_sentence().find("has not waited again since its wait 0") != std::string::npos);
  Status status;
  std::thread program([&] {
    const auto in = std::move(*transport.open_receiver("a", {}));
    Receiver* const receivers[] = {in.get()};
    status = std::move(*transport.make_waiter(receivers))->wait(INT64_MAX);
  });
  CHECK(transport.next_request(watchdog()).has_value());
  transport.stop();
  program.join();
  CHECK(status.code() == Code::kNotFound);
}

}  // namespace camshaft::transport
