// SPDX-License-Identifier: MIT
#include "msgq/queue/subscriber.h"

#include <errno.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "msgq/queue/copy.h"
#include "msgq/queue/spin.h"
#include "msgq/queue/subscriber_state.h"
#include "runtime/base/clock.h"

namespace camshaft::queue {
namespace {

using base::Code;
using base::Status;

constexpr int kMostRevocations = 16;

}  // namespace

Status Subscriber::State::connect() noexcept {
  topics_seen = bells.topics().load(std::memory_order_seq_cst);
  auto opened = TopicFile::open(path, TopicFile::Access::kRead, options.domain);
  if (!opened) return opened.error().code() == Code::kNotFound ? base::ok() : opened.error();
  const Constants& constants = (*opened)->view().constants;
  if (options.schema_hash != 0 && constants.schema_hash != options.schema_hash) {
    return base::fail(Code::kUnsupported, "queue.schema",
                      "the topic %s has schema %016llx and this reader expects %016llx: build both "
                      "from one schema",
                      topic.c_str(), static_cast<unsigned long long>(constants.schema_hash),
                      static_cast<unsigned long long>(options.schema_hash));
  }
  const std::optional<uint32_t> claimed = (*opened)->claim_slot(options.name);
  if (!claimed) {
    return base::fail(Code::kBusy, "queue.reader_slots",
                      "all %u reader slots of the topic %s are taken: end a reader, or let the "
                      "publisher open it with more reader_slots",
                      constants.reader_slots, topic.c_str());
  }
  file = std::move(*opened);
  slot = *claimed;
  reader.emplace(file->view(), slot, options.conflate, counters);
  if (was_connected) {
    resume();
  } else {
    reader->start(options.start);
  }
  was_connected = true;
  has_failed = false;
  return base::ok();
}

// The first messages of a new file are as new as those of the old one. Between the two there may
// have been others, which nobody can read any more.
void Subscriber::State::resume() noexcept {
  const Constants& constants = file->view().constants;
  if (constants.generation == last_generation) return reader->set_next(last_sequence + 1);
  reader->set_next(constants.first_sequence + 1);
  const uint64_t sent = constants.first_sequence - constants.unused_numbers;
  const uint64_t seen = last_sequence - last_unused;
  if (sent > seen) reader->count_missed(sent - seen);
}

void Subscriber::State::disconnect() noexcept {
  if (file == nullptr) return;
  counters = reader->counters();
  last_sequence = reader->next() - 1;
  last_generation = file->view().constants.generation;
  last_unused = file->view().constants.unused_numbers;
  reader.reset();
  file->release_slot(slot);
  file.reset();
}

bool Subscriber::State::is_done() const noexcept {
  return !reader->is_ready() && !reader->is_holding();
}

bool Subscriber::State::has_moved() const noexcept {
  return file->view().publisher->reservation.state.load(std::memory_order_seq_cst) == kStateMoved;
}

Status Subscriber::State::follow() noexcept {
  if (file != nullptr && has_moved() && is_done()) {
    disconnect();
    topics_seen = bells.topics().load(std::memory_order_seq_cst) - 1;  // look at once
  }
  if (!pending.is_ok()) return std::exchange(pending, base::ok());
  if (file != nullptr || bells.topics().load(std::memory_order_seq_cst) == topics_seen) {
    return base::ok();
  }
  const Status status = connect();
  has_failed = !status.is_ok();
  return status;
}

bool Subscriber::State::is_ready() const noexcept {
  if (file == nullptr) {
    return !pending.is_ok() || bells.topics().load(std::memory_order_seq_cst) != topics_seen;
  }
  return reader->is_ready() || has_moved();
}

std::optional<FutexWait> Subscriber::State::prepare_sleep(uint32_t bell) noexcept {
  if (file == nullptr) {
    const uint32_t value = bells.topics().load(std::memory_order_seq_cst);
    if (value != topics_seen || !pending.is_ok()) return std::nullopt;
    return FutexWait{&bells.topics(), value};
  }
  if (reader->slot().bell.load(std::memory_order_relaxed) != bell) {
    reader->slot().bell.store(bell, std::memory_order_relaxed);
  }
  const uint32_t flag = bell == 0 ? kWakeSleepers : kWakeBells;
  std::atomic<uint32_t>& word = file->view().wake->word;
  uint32_t value = word.load(std::memory_order_seq_cst);
  if ((value & flag) == 0) value = word.fetch_or(flag, std::memory_order_seq_cst) | flag;
  if (reader->is_ready_before_sleep() || has_moved()) return std::nullopt;
  return FutexWait{&word, value};
}

void Subscriber::State::check_now(int64_t now_ns) noexcept {
  next_check_ns = time_after(now_ns, options.look_again_ns);
  if (file != nullptr && !file->has_name() && is_done()) disconnect();
  if (file != nullptr) return;
  const Status status = connect();
  if (!status.is_ok() && !has_failed) pending = status;
  has_failed = !status.is_ok();
}

Subscriber::Subscriber(std::unique_ptr<State> state) : state_(std::move(state)) {}
Subscriber::Subscriber(Subscriber&&) noexcept = default;
Subscriber& Subscriber::operator=(Subscriber&& other) noexcept {
  if (state_ != nullptr) state_->disconnect();
  state_ = std::move(other.state_);
  return *this;
}
Subscriber::~Subscriber() {
  if (state_ != nullptr) state_->disconnect();
}

base::Result<Subscriber> Subscriber::open(std::string_view topic,
                                          const SubscriberOptions& options) {
  CAMSHAFT_TRY(check_topic_name(topic));
  CAMSHAFT_TRY_ASSIGN(const std::string folder, domain_folder(options.domain));
  CAMSHAFT_TRY(make_domain_folder(folder, options.domain, 0600));
  CAMSHAFT_TRY_ASSIGN(Bells bells, Bells::open(folder, 0600));
  std::unique_ptr<State> state(new State{.topic = std::string(topic),
                                         .path = folder + "/" + std::string(topic),
                                         .options = options,
                                         .bells = std::move(bells),
                                         .file = nullptr,
                                         .reader = std::nullopt,
                                         .counters = {},
                                         .pending = {}});
  if (state->options.name.empty()) state->options.name = ::program_invocation_short_name;
  CAMSHAFT_TRY(state->connect());
  // A topic that appears later is new to this reader from its first message on.
  if (state->file == nullptr && options.start == Start::kNext)
    state->options.start = Start::kOldest;
  return Subscriber(std::move(state));
}

base::Result<Message> Subscriber::State::take(RingReader::Check when) noexcept {
  if (file == nullptr || has_moved()) [[unlikely]]
    CAMSHAFT_TRY(follow());
  if (file == nullptr) return Message();
  if (reader->is_holding()) [[unlikely]] {
    return Status(Code::kInvalidArgument, "queue.not_released");
  }
  return reader->take(when);
}

base::Result<Message> Subscriber::borrow() noexcept {
  return state_->take(RingReader::Check::kNow);
}

base::Result<MessageInfo> Subscriber::receive(std::span<std::byte> into) noexcept {
  for (int attempt = 0; attempt < kMostRevocations; ++attempt) {
    base::Result<Message> message = state_->take(RingReader::Check::kLater);
    if (!message) return message.error();
    const MessageInfo info = message->info();
    if (!*message) return info;
    if (info.size_bytes > into.size()) {
      state_->reader->put_back(info);
      return Status(Code::kInvalidArgument, "queue.buffer_size");
    }
    copy_from_shared(into.data(), message->bytes().data(), info.size_bytes);
    const bool is_intact =
        state_->reader->is_intact(*message, {into.data(), static_cast<size_t>(info.size_bytes)});
    if (!message->release()) {
      state_->reader->count_revoked(info);
    } else {
      return is_intact ? base::Result<MessageInfo>(info) : state_->reader->report_damaged_copy();
    }
  }
  return MessageInfo();
}

bool Subscriber::is_ready() const noexcept {
  return state_->is_ready();
}

Status Subscriber::wait(int64_t deadline_ns) noexcept {
  State& s = *state_;
  if (spin_until(s.options.spin_ns, deadline_ns, [&] { return s.is_ready(); })) return base::ok();
  for (;;) {
    const int64_t now_ns = base::mono_time_ns();
    if (now_ns >= s.next_check_ns) s.check_now(now_ns);
    const std::optional<FutexWait> sleep = s.prepare_sleep(0);
    if (!sleep) return base::ok();
    if (now_ns >= deadline_ns) return {Code::kDeadlineExceeded, "queue.wait"};
    futex_wait(sleep->word, sleep->expected,
               std::min(deadline_ns, time_after(now_ns, s.options.look_again_ns)));
    if (s.is_ready()) return base::ok();
  }
}

bool Subscriber::is_connected() const noexcept {
  return state_->file != nullptr;
}
bool Subscriber::has_publisher() const noexcept {
  return state_->file != nullptr && state_->file->has_publisher();
}

namespace {
ReaderCounters counters_of(const std::optional<RingReader>& reader, const ReaderCounters& before) {
  return reader ? reader->counters() : before;
}
}  // namespace

uint64_t Subscriber::dropped() const noexcept {
  return counters_of(state_->reader, state_->counters).dropped;
}
uint64_t Subscriber::conflated() const noexcept {
  return counters_of(state_->reader, state_->counters).conflated;
}
uint64_t Subscriber::corrupt() const noexcept {
  return counters_of(state_->reader, state_->counters).corrupt;
}
uint64_t Subscriber::received() const noexcept {
  return counters_of(state_->reader, state_->counters).received;
}
uint64_t Subscriber::max_message_bytes() const noexcept {
  return state_->file == nullptr ? 0 : state_->file->view().max_message_bytes();
}
uint64_t Subscriber::schema_hash() const noexcept {
  return state_->file == nullptr ? 0 : state_->file->view().constants.schema_hash;
}
std::string_view Subscriber::topic() const noexcept {
  return state_->topic;
}

}  // namespace camshaft::queue
