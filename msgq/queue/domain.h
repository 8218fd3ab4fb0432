// SPDX-License-Identifier: MIT
// The folder that a set of processes shares: where topics are files, and the words that ring when
// topics appear or when a poller without futex_waitv sleeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "msgq/queue/topic.h"
#include "runtime/base/status.h"

namespace camshaft::queue {

// The file .bells of a domain: words to sleep on, in one page. Word 0 rings when a topic is made;
// the others belong to pollers, which choose one at random: two that share one wake for nothing now
// and then. Any value is a good one.
class Bells {
 public:
  static constexpr uint32_t kCount = 1024;

  static base::Result<Bells> open(const std::string& folder, uint32_t mode);
  Bells(Bells&& other) noexcept;
  Bells& operator=(Bells&& other) noexcept;
  ~Bells();

  std::atomic<uint32_t>& word(uint32_t index) const { return words_[index % kCount]; }
  std::atomic<uint32_t>& topics() const { return words_[0]; }
  // Wakes all that sleep on the word. Hot path.
  void ring(uint32_t index) const noexcept;
  // Wakes all of the domain: the topics that there are have changed.
  void ring_all() const noexcept;

 private:
  explicit Bells(std::atomic<uint32_t>* words) : words_(words) {}
  std::atomic<uint32_t>* words_;
};

// The path of the domain's folder; kInvalidArgument for an odd prefix.
base::Result<std::string> domain_folder(const DomainOptions& options);

// Makes the folder where it is missing, open to those whom files of `mode` are open to. Fails with
// kIo where it belongs to another user, unless that is allowed.
base::Status make_domain_folder(const std::string& folder, const DomainOptions& options,
                                uint32_t mode);

// Random bits, for names and generations.
uint64_t random_word();

}  // namespace camshaft::queue
