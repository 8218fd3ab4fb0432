// SPDX-License-Identifier: MIT
// Messages that no writer makes: small, and large once copied.
#include "runtime/plan/metadata.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/base/log_ring.h"
#include "tests/runtime/plan/sample_plan.h"
#include "tests/support/allocation_count.h"
#include "tests/support/last_sentence.h"

namespace camshaft::plan {
namespace {

using base::Bytes;
using base::Code;

// Words of a message that is put together by hand, as Cap'n Proto's encoding page has it.
class RawMessage {
 public:
  RawMessage() { words_.resize(1 + 1 + kPlanPointers); }

  size_t size() const { return words_.size(); }
  size_t add_words(size_t count, uint64_t value = 0) {
    words_.resize(words_.size() + count, value);
    return words_.size() - count;
  }
  void set(size_t at, uint64_t word) { words_[at] = word; }
  // At word `at`, a pointer to a list at word `to`.
  void set_list_pointer(size_t at, size_t to, uint64_t element_code, uint64_t count) {
    const uint64_t offset = static_cast<uint32_t>(to - at - 1) << 2 >> 2;
    words_[at] = 1 | offset << 2 | element_code << 32 | count << 35;
  }

  // With the framing and the root pointer to a Plan of pointers only.
  std::vector<uint64_t> finish() {
    words_[0] = static_cast<uint64_t>(words_.size() - 1) << 32;
    words_[1] = uint64_t{kPlanPointers} << 48;
    return words_;
  }

  static constexpr size_t kInputsPointer = 2 + 3;  // the fourth field

 private:
  static constexpr size_t kPlanPointers = 7;
  std::vector<uint64_t> words_;
};

constexpr uint64_t kByteElements = 2;
constexpr uint64_t kCompositeElements = 7;

struct Outcome {
  base::Status status;
  uint64_t allocated_bytes = 0;
  std::string sentence;
  PlanInfo info;
};

Outcome decode(const std::vector<uint64_t>& words) {
  Outcome outcome;
  const uint64_t before = camshaft::test::allocated_bytes();
  outcome.status = decode_metadata(base::as_bytes(std::span(words)), "x.plan", outcome.info);
  outcome.allocated_bytes = camshaft::test::allocated_bytes() - before;
  outcome.sentence = camshaft::test::last_sentence();
  return outcome;
}

// A list of `count` tensors whose names are all the one text of `text_words` words.
std::vector<uint64_t> make_shared_names(uint64_t count, uint64_t text_words) {
  constexpr uint64_t kTensorWords = 1 + 4;
  RawMessage message;
  const size_t tag = message.add_words(1, count << 2 | uint64_t{1} << 32 | uint64_t{4} << 48);
  message.set_list_pointer(RawMessage::kInputsPointer, tag, kCompositeElements,
                           count * kTensorWords);
  const size_t first = message.add_words(count * kTensorWords);
  const size_t text = message.add_words(text_words, 0x6161616161616161);
  message.set(text + text_words - 1, 0x0061616161616161);
  for (uint64_t i = 0; i < count; ++i) {
    message.set_list_pointer(first + i * kTensorWords + 1, text, kByteElements, text_words * 8);
  }
  return message.finish();
}

TEST_CASE("a message made by hand is read like any other") {
  const Outcome outcome = decode(make_shared_names(1, 10));
  REQUIRE(outcome.status.is_ok());
  REQUIRE(outcome.info.inputs.size() == 1);
  CHECK(outcome.info.inputs[0].name == std::string(79, 'a'));
}

TEST_CASE("pointers that share what they point to are stopped") {
  const std::vector<uint64_t> words = make_shared_names(5000, 20'000);
  const Outcome outcome = decode(words);
  CHECK(outcome.status.code() == Code::kCorrupt);
  CHECK_THAT(outcome.sentence, Catch::Contains("x.plan is damaged: section 0 (metadata) is not"));
  CHECK(outcome.allocated_bytes < 64 * 8 * words.size());
}

TEST_CASE("lists of elements smaller than a word are stopped") {
  RawMessage message;
  const uint64_t count = 800'000;
  const size_t list = message.add_words(count / 8);
  message.set_list_pointer(RawMessage::kInputsPointer, list, kByteElements, count);
  const std::vector<uint64_t> words = message.finish();
  const Outcome outcome = decode(words);
  CHECK(outcome.status.code() == Code::kCorrupt);
  CHECK(outcome.allocated_bytes < 4096);
}

TEST_CASE("lists of elements without any size are stopped") {
  for (const uint64_t count : {uint64_t{100}, uint64_t{1} << 28}) {
    RawMessage message;
    const size_t tag = message.add_words(1, count << 2);
    message.set_list_pointer(RawMessage::kInputsPointer, tag, kCompositeElements, 0);
    const Outcome outcome = decode(message.finish());
    CHECK(outcome.status.code() == Code::kCorrupt);
    CHECK(outcome.allocated_bytes < 8192);
  }
}

TEST_CASE("what is no message is malformed") {
  CHECK(decode({}).status.code() == Code::kCorrupt);
  CHECK(decode({~uint64_t{0}}).status.code() == Code::kCorrupt);
  CHECK(decode({uint64_t{1} << 32}).status.code() == Code::kCorrupt);
  CHECK(decode(std::vector<uint64_t>(100, ~uint64_t{0})).status.code() == Code::kCorrupt);
  PlanInfo info;
  const std::vector<uint64_t> words = make_shared_names(1, 10);
  const Bytes odd = base::as_bytes(std::span(words)).first(words.size() * 8 - 3);
  CHECK(decode_metadata(odd, "x.plan", info).code() == Code::kCorrupt);
}

TEST_CASE("an empty message is an empty plan, which no reader takes") {
  const Outcome outcome = decode({uint64_t{1} << 32, 0});
  REQUIRE(outcome.status.is_ok());
  CHECK(outcome.info == PlanInfo());
}

TEST_CASE("every cut of a message is malformed or reads as less") {
  const std::vector<std::byte> whole = encode_metadata(test::make_sample().info).value();
  std::vector<uint64_t> words(whole.size() / 8);
  std::memcpy(words.data(), whole.data(), whole.size());
  REQUIRE(decode(words).info == test::make_sample().info);
  while (words.size() > 1) {
    words.pop_back();
    const Outcome outcome = decode(words);
    CHECK(outcome.status.code() == Code::kCorrupt);
    CHECK(outcome.allocated_bytes < 64 * whole.size());
  }
}

}  // namespace
}  // namespace camshaft::plan
