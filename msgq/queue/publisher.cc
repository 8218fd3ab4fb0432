// SPDX-License-Identifier: MIT
#include "msgq/queue/publisher.h"

#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "msgq/queue/copy.h"
#include "msgq/queue/domain.h"
#include "msgq/queue/payload_check.h"
#include "msgq/queue/ring_writer.h"
#include "msgq/queue/topic_file.h"
#include "runtime/base/clock.h"
#include "runtime/base/log_ring.h"

namespace camshaft::queue {
namespace {

using base::Code;
using base::Status;

constexpr int64_t kCheckPeriodNs = 1'000'000'000;
constexpr int kMostAttempts = 64;

// What open() and resize() end with.
struct Opened {
  std::unique_ptr<TopicFile> file;
  std::unique_ptr<RingWriter> writer;
};

class Opener {
 public:
  Opener(std::string_view topic, std::string folder, const PublisherOptions& options)
      : topic_(topic),
        folder_(std::move(folder)),
        path_(folder_ + "/" + topic_),
        options_(options) {}

  base::Result<Opened> open();
  // A new file with the topic's name, whose messages are numbered on from `last_sequence`.
  base::Result<Opened> replace(uint64_t last_sequence, uint64_t unused_numbers);
  const std::string& path() const { return path_; }

 private:
  base::Result<std::unique_ptr<TopicFile>> make(uint64_t last_sequence,
                                                uint64_t unused_numbers) const;
  // Nothing: try again, somebody else changed the name meanwhile.
  base::Result<std::optional<Opened>> try_new();
  base::Result<std::optional<Opened>> try_existing(std::unique_ptr<TopicFile> file);
  base::Result<std::optional<Opened>> try_damaged();
  bool fits(const TopicFile& file, const Constants& wanted) const;

  std::string topic_;
  std::string folder_;
  std::string path_;
  PublisherOptions options_;
};

base::Result<Opened> finished(std::unique_ptr<TopicFile> file) {
  std::unique_ptr<RingWriter> writer = RingWriter::attach(file->view(), *file);
  if (writer == nullptr) return Status(Code::kCorrupt, "queue.attach");
  file->view().publisher->progress.publisher_pid.store(static_cast<uint64_t>(::getpid()),
                                                       std::memory_order_relaxed);
  writer->wake_after_death();  // bells ring for every publisher that opens
  return Opened{std::move(file), std::move(writer)};
}

base::Result<std::unique_ptr<TopicFile>> Opener::make(uint64_t last_sequence,
                                                      uint64_t unused_numbers) const {
  CAMSHAFT_TRY_ASSIGN(const Constants constants,
                      make_constants(options_.size, options_.schema_hash,
                                     options_.check_up_to_bytes, last_sequence, unused_numbers));
  return TopicFile::make(folder_, topic_, constants, options_.mode);
}

base::Result<Opened> Opener::replace(uint64_t last_sequence, uint64_t unused_numbers) {
  CAMSHAFT_TRY_ASSIGN(std::unique_ptr<TopicFile> file, make(last_sequence, unused_numbers));
  CAMSHAFT_TRY(file->take_name(path_));
  return finished(std::move(file));
}

base::Result<std::optional<Opened>> Opener::try_new() {
  CAMSHAFT_TRY_ASSIGN(std::unique_ptr<TopicFile> file, make(0, 0));
  CAMSHAFT_TRY_ASSIGN(const bool named, file->take_free_name(path_));
  if (!named) return std::optional<Opened>();
  CAMSHAFT_TRY_ASSIGN(Opened opened, finished(std::move(file)));
  return std::optional<Opened>(std::move(opened));
}

bool Opener::fits(const TopicFile& file, const Constants& wanted) const {
  const Constants& has = file.view().constants;
  return has.ring_bytes == wanted.ring_bytes && has.entries == wanted.entries &&
         has.reader_slots == wanted.reader_slots && has.schema_hash == wanted.schema_hash &&
         has.check_up_to_bytes == wanted.check_up_to_bytes && file.mode() == options_.mode;
}

base::Result<std::optional<Opened>> Opener::try_existing(std::unique_ptr<TopicFile> file) {
  const bool is_ours = file->lock_publisher();
  if (!is_ours && options_.if_taken == IfTaken::kRefuse) {
    const uint64_t pid =
        file->view().publisher->progress.publisher_pid.load(std::memory_order_relaxed);
    return base::fail(Code::kBusy, "queue.publisher",
                      "the topic %s has a publisher, process %llu: end that one, or take over",
                      topic_.c_str(), static_cast<unsigned long long>(pid));
  }
  if (!file->is_at(path_)) return std::optional<Opened>();
  CAMSHAFT_TRY_ASSIGN(const Constants wanted, make_constants(options_.size, options_.schema_hash,
                                                             options_.check_up_to_bytes, 0));
  const TopicView& view = file->view();
  uint64_t last = view.publisher->progress.newest.load(std::memory_order_acquire);
  uint64_t unused = view.constants.unused_numbers;
  if (is_ours && fits(*file, wanted)) {
    auto opened = finished(std::move(file));
    if (opened) return std::optional<Opened>(std::move(*opened));
    base::log_line("the topic %s is damaged: making it anew", topic_.c_str());
    last = 0;
    unused = 0;
  } else if (!is_ours) {
    last += view.constants.entries;  // the other one may still send some; numbers stay unique
    unused += view.constants.entries;
  }
  CAMSHAFT_TRY_ASSIGN(Opened opened, replace(last, unused));
  return std::optional<Opened>(std::move(opened));
}

base::Result<Opened> Opener::open() {
  remove_leftovers(folder_, topic_);
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    auto existing = TopicFile::open(path_, TopicFile::Access::kPublish, options_.domain);
    base::Result<std::optional<Opened>> result = std::optional<Opened>();
    if (existing) {
      result = try_existing(std::move(*existing));
    } else if (existing.error().code() == Code::kNotFound) {
      result = try_new();
    } else if (existing.error().code() == Code::kCorrupt ||
               existing.error().code() == Code::kUnsupported) {
      result = try_damaged();
    } else {
      return existing.error();
    }
    if (!result) return result.error();
    if (result->has_value()) return std::move(**result);
  }
  return base::fail(Code::kBusy, "queue.open", "others kept replacing the topic %s",
                    topic_.c_str());
}

// A file that makes no sense, or of another layout. Its publisher's lock is still to be respected.
base::Result<std::optional<Opened>> Opener::try_damaged() {
  if (options_.if_taken == IfTaken::kRefuse && has_publisher_lock(path_)) {
    return base::fail(Code::kBusy, "queue.publisher",
                      "the topic %s has a publisher and a header that this program can't read: end "
                      "that one, or take over",
                      topic_.c_str());
  }
  base::log_line("the topic %s can't be read: making it anew", topic_.c_str());
  CAMSHAFT_TRY_ASSIGN(Opened opened, replace(0, 0));
  return std::optional<Opened>(std::move(opened));
}

}  // namespace

struct Publisher::State {
  std::string topic;
  std::string folder;
  PublisherOptions options;
  Bells bells;
  std::unique_ptr<TopicFile> file;
  std::unique_ptr<RingWriter> writer;
  std::byte* reserved = nullptr;
  uint64_t reserved_bytes = 0;
  bool has_reservation = false;
  int64_t next_check_ns = 0;
  bool is_gone = false;

  Status refuse_size(uint64_t size_bytes) noexcept;
  bool is_moved() const noexcept {
    return file->view().publisher->reservation.state.load(std::memory_order_acquire) == kStateMoved;
  }
  Status gone() noexcept;
  void check_now(int64_t now_ns) noexcept;
  void ring_bells() noexcept;
  void finish(uint64_t size_bytes, uint64_t tag, uint64_t payload_hash) noexcept;
};

Publisher::Publisher(std::unique_ptr<State> state) : state_(std::move(state)) {}
Publisher::Publisher(Publisher&&) noexcept = default;
Publisher& Publisher::operator=(Publisher&&) noexcept = default;
Publisher::~Publisher() = default;

base::Result<Publisher> Publisher::open(std::string_view topic, const PublisherOptions& options) {
  CAMSHAFT_TRY(check_topic_name(topic));
  CAMSHAFT_TRY_ASSIGN(std::string folder, domain_folder(options.domain));
  CAMSHAFT_TRY(make_domain_folder(folder, options.domain, options.mode));
  CAMSHAFT_TRY_ASSIGN(Bells bells, Bells::open(folder, options.mode));
  CAMSHAFT_TRY_ASSIGN(Opened opened, Opener(topic, folder, options).open());
  std::unique_ptr<State> state(new State{std::string(topic), folder, options, std::move(bells),
                                         std::move(opened.file), std::move(opened.writer)});
  state->next_check_ns = base::mono_time_ns() + kCheckPeriodNs;
  state->bells.ring_all();
  return Publisher(std::move(state));
}

Status Publisher::State::refuse_size(uint64_t size_bytes) noexcept {
  writer->count_refusal();
  const TopicView& view = file->view();
  return base::fail(Code::kInvalidArgument, "queue.message_size",
                    "a message of %llu bytes is too large for the topic %s, which takes %llu: open "
                    "it with ring_bytes of at least twice the message",
                    static_cast<unsigned long long>(size_bytes), topic.c_str(),
                    static_cast<unsigned long long>(view.max_message_bytes()));
}

Status Publisher::State::gone() noexcept {
  if (!is_gone) {
    is_gone = true;
    const char* const what = file->is_left_to_parent()
                                 ? "belongs to the process that forked this one"
                                 : "was taken over or removed";
    return base::fail(Code::kNotFound, "queue.gone", "the topic %s %s: open it again",
                      topic.c_str(), what);
  }
  return {Code::kNotFound, "queue.gone"};
}

// Once a second: what others may have done to the file.
void Publisher::State::check_now(int64_t now_ns) noexcept {
  next_check_ns = now_ns + kCheckPeriodNs;
  if (!file->has_name()) {
    file->view().publisher->reservation.state.store(kStateMoved, std::memory_order_seq_cst);
  }
  if (!file->is_header_intact()) {
    file->repair_header();
    base::log_line("the header of the topic %s was damaged, and is repaired", topic.c_str());
  }
}

void Publisher::State::ring_bells() noexcept {
  for (uint32_t i = 0; i < file->view().constants.reader_slots; ++i) {
    const uint32_t bell = file->view().slots[i].bell.load(std::memory_order_relaxed);
    if (bell != 0) bells.ring(bell);
  }
}

base::Result<std::span<std::byte>> Publisher::reserve(uint64_t size_bytes) noexcept {
  State& s = *state_;
  s.has_reservation = false;
  const TopicView& view = s.file->view();
  if (s.is_moved()) return s.gone();
  if (size_bytes > view.max_message_bytes()) return s.refuse_size(size_bytes);
  std::byte* bytes = s.writer->reserve(size_bytes, s.options.if_held == IfHeld::kRevoke);
  if (bytes == nullptr) {
    s.writer->count_refusal();
    return Status(Code::kBusy, "queue.held");
  }
  s.reserved = bytes;
  s.reserved_bytes = size_bytes;
  s.has_reservation = true;
  return std::span<std::byte>(bytes, size_bytes);
}

Status Publisher::commit(uint64_t size_bytes, uint64_t tag) noexcept {
  State& s = *state_;
  if (!s.has_reservation || size_bytes > s.reserved_bytes) {
    return {Code::kInvalidArgument, "queue.commit"};
  }
  if (s.is_moved()) {
    s.has_reservation = false;
    return s.gone();
  }
  const Constants& constants = s.file->view().constants;
  s.finish(size_bytes, tag, payload_check(constants, s.reserved, size_bytes));
  return base::ok();
}

void Publisher::State::finish(uint64_t size_bytes, uint64_t tag, uint64_t payload_hash) noexcept {
  has_reservation = false;
  const int64_t now_ns = base::mono_time_ns();
  if ((writer->commit(size_bytes, now_ns, tag, payload_hash) & kWakeBells) != 0) ring_bells();
  if (now_ns >= next_check_ns) check_now(now_ns);
}

void Publisher::cancel() noexcept {
  state_->has_reservation = false;
}

// The check is of the caller's bytes: what happens to the copy from now on can be told.
Status Publisher::publish(base::Bytes payload, uint64_t tag) noexcept {
  auto space = reserve(payload.size());
  if (!space) return space.error();
  copy_to_shared(space->data(), payload.data(), payload.size());
  const Constants& constants = state_->file->view().constants;
  state_->finish(payload.size(), tag, payload_check(constants, payload.data(), payload.size()));
  return base::ok();
}

Status Publisher::resize(const TopicSize& size) {
  State& s = *state_;
  s.has_reservation = false;
  if (s.is_moved()) return s.gone();
  PublisherOptions options = s.options;
  options.size = size;
  CAMSHAFT_TRY_ASSIGN(Opened opened,
                      Opener(s.topic, s.folder, options)
                          .replace(s.writer->newest(), s.file->view().constants.unused_numbers));
  s.options = options;
  s.writer = std::move(opened.writer);
  s.file = std::move(opened.file);
  s.bells.ring_all();
  return base::ok();
}

uint64_t Publisher::newest_sequence() const noexcept {
  return state_->writer->newest();
}
uint64_t Publisher::max_message_bytes() const noexcept {
  return state_->file->view().max_message_bytes();
}
std::string_view Publisher::topic() const noexcept {
  return state_->topic;
}

}  // namespace camshaft::queue
