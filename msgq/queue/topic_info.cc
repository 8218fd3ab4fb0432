// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "msgq/queue/domain.h"
#include "msgq/queue/topic.h"
#include "msgq/queue/topic_file.h"

namespace camshaft::queue {
namespace {

using base::Code;

uint64_t seen(const std::atomic<uint64_t>& value) {
  return value.load(std::memory_order_relaxed);
}

ReaderInfo look_at(const ReaderSlot& slot, uint32_t index) {
  uint64_t words[kReaderNameBytes / 8];
  load_words(words, slot.name, std::size(words));
  char name[kReaderNameBytes + 1] = {};
  std::memcpy(name, words, kReaderNameBytes);
  ReaderInfo info;
  info.slot = index;
  info.pid = seen(slot.pid);
  info.name = name;
  info.next_sequence = seen(slot.cursor);
  info.received = seen(slot.received);
  info.dropped = seen(slot.dropped);
  info.conflated = seen(slot.conflated);
  info.corrupt = seen(slot.corrupt);
  info.holds_message = seen(slot.lease) != 0;
  return info;
}

base::Result<std::string> topic_path(std::string_view topic, const DomainOptions& domain) {
  CAMSHAFT_TRY(check_topic_name(topic));
  CAMSHAFT_TRY_ASSIGN(const std::string folder, domain_folder(domain));
  return folder + "/" + std::string(topic);
}

}  // namespace

base::Result<std::vector<std::string>> list_topics(const DomainOptions& domain) {
  CAMSHAFT_TRY_ASSIGN(const std::string folder, domain_folder(domain));
  std::vector<std::string> names;
  DIR* listing = ::opendir(folder.c_str());
  if (listing == nullptr) {
    if (errno == ENOENT) return names;
    return base::fail_errno(Code::kIo, "queue.list", errno, "can't list %s", folder.c_str());
  }
  while (const dirent* entry = ::readdir(listing)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(listing);
  std::sort(names.begin(), names.end());
  return names;
}

base::Result<TopicInfo> inspect_topic(std::string_view topic, const DomainOptions& domain) {
  CAMSHAFT_TRY_ASSIGN(const std::string path, topic_path(topic, domain));
  const auto opened = TopicFile::open(path, TopicFile::Access::kLook, domain);
  if (!opened && opened.error().code() == Code::kNotFound) {
    return base::fail(Code::kNotFound, "queue.topic",
                      "there is no topic '%.*s': nothing has published it yet, or it has another "
                      "prefix",
                      static_cast<int>(topic.size()), topic.data());
  }
  if (!opened) return opened.error();
  const TopicFile* const file = opened->get();
  const TopicView& view = file->view();
  const Progress& progress = view.publisher->progress;
  TopicInfo info;
  info.name = topic;
  info.size = {view.constants.ring_bytes, view.constants.entries, view.constants.reader_slots};
  info.schema_hash = view.constants.schema_hash;
  info.file_bytes = view.constants.file_bytes;
  info.max_message_bytes = view.max_message_bytes();
  info.has_publisher = file->has_publisher();
  info.publisher_pid = seen(progress.publisher_pid);
  info.newest_sequence = progress.newest.load(std::memory_order_acquire);
  info.oldest_sequence = seen(progress.oldest);
  const Entry& newest = view.entry(info.newest_sequence);
  info.newest_mono_time_ns = static_cast<int64_t>(seen(newest.mono_time_ns));
  info.newest_size_bytes = seen(newest.size_bytes);
  info.payload_bytes = seen(progress.payload_bytes);
  info.refused = seen(progress.refused);
  info.revoked = seen(progress.revoked);
  for (uint32_t i = 0; i < view.constants.reader_slots; ++i) {
    if (file->is_alive(i)) info.readers.push_back(look_at(view.slots[i], i));
  }
  return info;
}

base::Status remove_topic(std::string_view topic, const DomainOptions& domain) {
  CAMSHAFT_TRY_ASSIGN(const std::string path, topic_path(topic, domain));
  if (has_publisher_lock(path)) {
    return base::fail(Code::kBusy, "queue.remove", "%s has a publisher: end that one first",
                      path.c_str());
  }
  if (::unlink(path.c_str()) == 0) return base::ok();
  return base::fail_errno(errno == ENOENT ? Code::kNotFound : Code::kIo, "queue.remove", errno,
                          "can't remove %s", path.c_str());
}

}  // namespace camshaft::queue
