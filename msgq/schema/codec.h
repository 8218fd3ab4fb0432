// SPDX-License-Identifier: MIT
// Messages to bytes and back: Cap'n Proto's framing of one segment (messages.capnp). codec.cc is
// the one file of msgq/ that sees Cap'n Proto and its exceptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "msgq/schema/messages.h"
#include "runtime/base/bytes.h"
#include "runtime/base/status.h"

namespace camshaft::schema {

// Identifies the type of a body on a topic: equal for all compatible versions of the schema,
// another where a type was replaced. 0 for index 0 and unknown ones.
uint64_t schema_id(size_t body_index) noexcept;

// Makes bytes of messages, in memory that it keeps: after a few messages of a size it allocates
// no more. One thread at a time.
class Encoder {
 public:
  // The message's bytes, 8-byte aligned, until the next call. Fails with kOutOfMemory. hot path.
  base::Result<base::Bytes> encode(const Message& message) noexcept;

 private:
  void store_framing() noexcept;

  std::vector<uint64_t> words_;
  size_t used_words_ = 0;  // the others are zero
};

// Copies a message out into `message`, whose memory is used again where it suffices: a topic's
// messages of a size allocate nothing after the first (of one segment, as Encoder makes them). `bytes` must not change meanwhile (copy what
// others may write to). A body of a kind that a newer writer knows comes out as none.
//
// Bytes that are no message give kCorrupt with a sentence, and `message` is then of no meaning.
// Allocates at most 32 times the size of `bytes`. hot path.
base::Status decode(base::Bytes bytes, Message& message) noexcept;

}  // namespace camshaft::schema
