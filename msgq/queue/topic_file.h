// SPDX-License-Identifier: MIT
// A topic's file: made, found, checked, mapped, locked and replaced. Nothing here is hot.
//
// A file has its final size and a whole header before it gets its name, and neither changes again:
// a topic of another size is another file that takes over the name. So a mapping stays good
// whatever happens to the name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "msgq/queue/fork_guard.h"
#include "msgq/queue/layout.h"
#include "msgq/queue/ring_writer.h"
#include "msgq/queue/topic.h"

namespace camshaft::queue {

class TopicFile final : public SlotOwners {
 public:
  enum class Access : uint8_t {
    kLook,     // reads everything, writes nothing
    kRead,     // writes reader slots and the wake word
    kPublish,  // writes everything
  };

  // Opens the file that has the topic's name. kNotFound, kCorrupt, kUnsupported, kIo.
  static base::Result<std::unique_ptr<TopicFile>> open(const std::string& path, Access access,
                                                       const DomainOptions& domain);

  // Makes a file of that size under a temporary name, with the publisher's lock held. kIo,
  // kOutOfMemory (the memory file system is full).
  static base::Result<std::unique_ptr<TopicFile>> make(const std::string& folder,
                                                       std::string_view topic,
                                                       const Constants& constants, uint32_t mode);

  ~TopicFile() override;
  TopicFile(const TopicFile&) = delete;
  TopicFile& operator=(const TopicFile&) = delete;

  const TopicView& view() const { return view_; }

  // Whether this process was forked from the one that opened the file. It has none of its locks
  // then, and sees a topic without messages that has moved; what a reader held can still be looked
  // at, and is no longer valid.
  bool is_left_to_parent() const { return fd_ < 0; }

  // Gives a file made by make() the name, where nothing has it: false where something has.
  base::Result<bool> take_free_name(const std::string& path);
  // Takes the name over; the file that had it is marked as moved, and all that wait there woken.
  base::Status take_name(const std::string& path);

  // The exclusive right to publish; false where somebody has it. Lasts as long as the object.
  bool lock_publisher() noexcept;
  bool has_publisher() const noexcept;
  // A free reader slot, emptied and locked; nothing where all are taken.
  std::optional<uint32_t> claim_slot(std::string_view reader_name) noexcept;
  void release_slot(uint32_t slot) noexcept;
  bool is_alive(uint32_t slot) const noexcept override;

  // Whether `path` is still the name of this file.
  bool is_at(const std::string& path) const noexcept;
  // Whether the file has a name at all. A system call.
  bool has_name() const noexcept;

  // Whether the header in memory is still what was checked; and makes it so again.
  bool is_header_intact() const noexcept;
  void repair_header() noexcept;
  uint32_t mode() const noexcept;

 private:
  TopicFile(int fd, std::string temporary_path);
  void leave_to_parent() noexcept;
  base::Status map(const Constants& constants, Access access, const std::string& path);
  bool lock_byte(int64_t byte, bool lock) noexcept;
  bool is_byte_locked(int64_t byte) const noexcept;

  int fd_;
  std::string temporary_path_;  // "": it has its final name
  TopicView view_;
  bool publishes_ = false;
  std::byte* mapping_ = nullptr;
  uint64_t mapping_bytes_ = 0;
  ForkGuard guard_;
};

// Whether a publisher has a file that open() can't make sense of.
bool has_publisher_lock(const std::string& path) noexcept;

// Removes files that publishers left which died while they made a topic.
void remove_leftovers(const std::string& folder, std::string_view topic);

// Constants of a file for these options; kInvalidArgument where they can't be met.
base::Result<Constants> make_constants(const TopicSize& size, uint64_t schema_hash,
                                       uint64_t check_up_to_bytes, uint64_t first_sequence,
                                       uint64_t unused_numbers = 0);

// Copies between private and shared words, one atomic word at a time.
void load_words(uint64_t* to, const void* from, size_t words) noexcept;
void store_words(void* to, const uint64_t* from, size_t words) noexcept;

}  // namespace camshaft::queue
