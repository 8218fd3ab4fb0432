// SPDX-License-Identifier: MIT
// The transport of deterministic replay: the program under replay runs as always, on a thread of
// its own, but every wait of its ends when, and with what, a driver says; and the clock is the
// driver's.
//
//   Stepped transport;
//   std::thread program([&] { run_modeld(transport); transport.finish(); });
//   while (auto request = transport.next_request(watchdog_ns); request && !request->is_finished) {
//     transport.set_now(time_of_next_message);
//     transport.deliver("roadCameraState", bytes);
//     transport.resume();                       // the program runs until it waits again
//   }                                           // then take_sent() has what it sent
//
// The program's side is one thread; the driver's is another.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "msgq/transport/topic_store.h"
#include "msgq/transport/transport.h"

namespace camshaft::transport {

class Stepped final : public Transport {
 public:
  // The program waits for any of these topics, or has ended.
  struct Request {
    uint64_t number = 0;  // 1 for the first wait
    bool is_finished = false;
    int64_t deadline_ns = 0;
    std::vector<std::string> topics;
  };
  struct Sent {
    std::string topic;
    int64_t mono_time_ns = 0;
    std::vector<std::byte> bytes;
  };

  // --- The driver's side.
  // Blocks until the program waits; kDeadlineExceeded where it does not until `watchdog_ns` on the
  // real monotonic clock.
  Result<Request> next_request(int64_t watchdog_ns);
  // While the program waits: time goes on to `now_ns`; a message comes.
  void set_now(int64_t now_ns);
  Status deliver(std::string_view topic, base::Bytes message, uint64_t schema_hash = 0);
  // Ends the program's wait: with success where something was delivered that it waits for, else as
  // if its deadline had come.
  void resume();
  // What the program sent since the last call, in order.
  std::vector<Sent> take_sent();
  // All waits of the program fail from now on, with kNotFound: it should end.
  void stop();

  // --- The program's side.
  void finish();  // nothing comes any more
  Result<std::unique_ptr<Sender>> open_sender(std::string_view topic,
                                              const SenderOptions& options) override;
  Result<std::unique_ptr<Receiver>> open_receiver(std::string_view topic,
                                                  const ReceiverOptions& options) override;
  Result<std::unique_ptr<Waiter>> make_waiter(std::span<Receiver* const> receivers) override;
  int64_t now_ns() const noexcept override;

 private:
  class SteppedSender;
  class SteppedReceiver;
  class SteppedWaiter;
  enum class State : uint8_t { kRuns, kWaits, kFinished };

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kRuns;
  bool is_stopped_ = false;
  int64_t now_ns_ = 0;
  Request request_;
  StoredTopics topics_;
  std::vector<Sent> sent_;
};

}  // namespace camshaft::transport
