// SPDX-License-Identifier: MIT
#include "msgq/queue/poller.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "msgq/queue/spin.h"
#include "msgq/queue/subscriber_state.h"
#include "runtime/base/clock.h"

namespace camshaft::queue {

using base::Code;
using base::Status;

struct Poller::State {
  PollerOptions options;
  uint32_t bell;  // index of the word that this poller sleeps on
  bool uses_bell;
  std::vector<Subscriber*> subscribers;

  bool is_any_ready() const noexcept;
  void check_all(int64_t now_ns) noexcept;
  bool sleep_at_topics(int64_t until_ns) noexcept;
  bool sleep_at_bell(int64_t until_ns) noexcept;
};

Poller::Poller(std::unique_ptr<State> state) : state_(std::move(state)) {}
Poller::Poller(Poller&&) noexcept = default;
Poller& Poller::operator=(Poller&&) noexcept = default;
Poller::~Poller() = default;

base::Result<Poller> Poller::make(const PollerOptions& options) {
  const uint32_t bell = 1 + static_cast<uint32_t>(random_word() % (Bells::kCount - 1));
  std::unique_ptr<State> state(new State{options, bell, options.use_bell, {}});
  state->subscribers.reserve(kMaxPolled);
  return Poller(std::move(state));
}

Status Poller::add(Subscriber& subscriber) {
  State& s = *state_;
  if (s.subscribers.size() == kMaxPolled) {
    return base::fail(Code::kInvalidArgument, "queue.poller",
                      "a poller takes up to %u subscribers: use a second one", kMaxPolled);
  }
  const auto folder = [](const Subscriber& of) {
    const std::string& path = of.state_->path;
    return std::string_view(path).substr(0, path.rfind('/'));
  };
  if (!s.subscribers.empty() && folder(*s.subscribers[0]) != folder(subscriber)) {
    return base::fail(Code::kInvalidArgument, "queue.poller",
                      "the topic %s is of another domain than the poller's other topics",
                      subscriber.state_->topic.c_str());
  }
  s.subscribers.push_back(&subscriber);
  return base::ok();
}

void Poller::remove(Subscriber& subscriber) {
  auto& all = state_->subscribers;
  all.erase(std::remove(all.begin(), all.end(), &subscriber), all.end());
}

bool Poller::State::is_any_ready() const noexcept {
  return std::any_of(subscribers.begin(), subscribers.end(),
                     [](const Subscriber* s) { return s->is_ready(); });
}

void Poller::State::check_all(int64_t now_ns) noexcept {
  for (const Subscriber* s : subscribers) {
    if (now_ns >= s->state_->next_check_ns) s->state_->check_now(now_ns);
  }
}

// False where there is something to do.
bool Poller::State::sleep_at_topics(int64_t until_ns) noexcept {
  FutexWait waits[kMaxPolled];
  uint32_t count = 0;
  for (const Subscriber* s : subscribers) {
    const std::optional<FutexWait> wait = s->state_->prepare_sleep(0);
    if (!wait) return false;
    waits[count++] = *wait;
  }
  if (count == 1) {
    futex_wait(waits[0].word, waits[0].expected, until_ns);
  } else if (!futex_wait_any(waits, count, until_ns)) {
    uses_bell = true;
  }
  return true;
}

bool Poller::State::sleep_at_bell(int64_t until_ns) noexcept {
  const std::atomic<uint32_t>& word = subscribers[0]->state_->bells.word(bell);
  const uint32_t value = word.load(std::memory_order_seq_cst);
  for (const Subscriber* s : subscribers) {
    if (!s->state_->prepare_sleep(bell)) return false;
  }
  futex_wait(&word, value, until_ns);
  return true;
}

Status Poller::wait(int64_t deadline_ns) noexcept {
  State& s = *state_;
  if (spin_until(s.options.spin_ns, deadline_ns, [&] { return s.is_any_ready(); })) {
    return base::ok();
  }
  if (s.subscribers.empty()) return {Code::kInvalidArgument, "queue.poller"};
  for (;;) {
    const int64_t now_ns = base::mono_time_ns();
    s.check_all(now_ns);
    const int64_t until_ns = std::min(deadline_ns, time_after(now_ns, s.options.look_again_ns));
    if (now_ns >= deadline_ns) {
      return s.is_any_ready() ? base::ok() : Status(Code::kDeadlineExceeded, "queue.poller");
    }
    const bool slept = s.uses_bell ? s.sleep_at_bell(until_ns) : s.sleep_at_topics(until_ns);
    if (!slept || s.is_any_ready()) return base::ok();
  }
}

}  // namespace camshaft::queue
