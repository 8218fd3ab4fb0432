// SPDX-License-Identifier: MIT
#include "msgq/schema/codec.h"

#include <capnp/message.h>
#include <capnp/schema.h>
#include <capnp/serialize.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "msgq/schema/json.h"
#include "msgq/schema/messages.capnp.h"
#include "tests/msgq/schema/sample_messages.h"
#include "tests/support/allocation_count.h"
#include "tests/support/last_sentence.h"

namespace camshaft::schema {
namespace {

std::vector<std::byte> encoded(const Message& message) {
  Encoder encoder;
  const base::Result<base::Bytes> bytes = encoder.encode(message);
  REQUIRE(bytes.has_value());
  return {bytes->begin(), bytes->end()};
}

template <typename T>
std::vector<std::string> listed_fields() {
  std::vector<std::string> names;
  fields(T(), [&](const char* name, const auto&) { names.push_back(name); });
  return names;
}

std::vector<std::string> schema_fields(capnp::StructSchema schema) {
  std::vector<std::string> names;
  for (const auto field : schema.getFields()) names.push_back(field.getProto().getName().cStr());
  return names;
}

}  // namespace

TEST_CASE("every field of every message comes back as it was") {
  for (const Message& message : sample_messages()) {
    INFO(body_name(message.body.index()));
    Message back;
    REQUIRE(decode(encoded(message), back).is_ok());
    CHECK(back.body.index() == message.body.index());
    CHECK(to_json(back) == to_json(message));
    // Negative control: the text differs where a message has nothing in its fields.
    Message empty = message;
    std::visit([](auto& body) { body = {}; }, empty.body);
    CHECK(to_json(empty) != to_json(message));
  }
}

TEST_CASE("text comes back with zeroes in it, and after them") {
  Message message = sample_message<VehicleState>();
  message.reason = std::string("a\0b", 3);
  std::get<VehicleState>(message.body).faults = {std::string("\0", 1), ""};
  Message back;
  REQUIRE(decode(encoded(message), back).is_ok());
  CHECK(back.reason == message.reason);
  CHECK(std::get<VehicleState>(back.body).faults == std::get<VehicleState>(message.body).faults);
}

TEST_CASE("structs list the fields that the schema has, in its order") {
  CHECK(listed_fields<CameraState>() == schema_fields(capnp::Schema::from<wire::CameraState>()));
  CHECK(listed_fields<Tensor>() == schema_fields(capnp::Schema::from<wire::Tensor>()));
  CHECK(listed_fields<ModelOutput>() == schema_fields(capnp::Schema::from<wire::ModelOutput>()));
  CHECK(listed_fields<DriverState>() == schema_fields(capnp::Schema::from<wire::DriverState>()));
  CHECK(listed_fields<Controls>() == schema_fields(capnp::Schema::from<wire::Controls>()));
  CHECK(listed_fields<VehicleState>() == schema_fields(capnp::Schema::from<wire::VehicleState>()));
  CHECK(listed_fields<LoggedService>() ==
        schema_fields(capnp::Schema::from<wire::LoggedService>()));
  CHECK(listed_fields<LogHeader>() == schema_fields(capnp::Schema::from<wire::LogHeader>()));
  CHECK(listed_fields<LateService>() == schema_fields(capnp::Schema::from<wire::LateService>()));
  CHECK(listed_fields<Health>() == schema_fields(capnp::Schema::from<wire::Health>()));

  const capnp::StructSchema message = capnp::Schema::from<wire::Message>();
  std::set<uint64_t> ids;
  for (const auto field : message.getUnionFields()) {
    const std::string name = field.getProto().getName().cStr();
    if (name == "none") continue;
    const size_t index = body_index(name);
    INFO(name);
    CHECK(index == field.getProto().getDiscriminantValue());
    CHECK(schema_id(index) == field.getType().asStruct().getProto().getId());
    ids.insert(schema_id(index));
  }
  CHECK(ids.size() + 1 == std::variant_size_v<Body>);
  CHECK(schema_id(0) == 0);
  CHECK(schema_id(1000) == 0);
}

TEST_CASE("enumerants have the schema's names, and unknown ones none") {
  const capnp::EnumSchema gears = capnp::Schema::from<wire::Gear>();
  for (const auto gear : gears.getEnumerants()) {
    CHECK(enumerant_name(static_cast<Gear>(gear.getOrdinal())) ==
          std::string(gear.getProto().getName().cStr()));
  }
  const capnp::EnumSchema states = capnp::Schema::from<wire::HealthState>();
  for (const auto state : states.getEnumerants()) {
    CHECK(enumerant_name(static_cast<HealthState>(state.getOrdinal())) ==
          std::string(state.getProto().getName().cStr()));
  }
  CHECK(enumerant_name(static_cast<Gear>(77)) == std::string("unknown"));
}

TEST_CASE("messages of a size allocate nothing after the first ones") {
  for (const Message& message : sample_messages()) {
    INFO(body_name(message.body.index()));
    Encoder encoder;
    Message back;
    for (int i = 0; i < 2; ++i) REQUIRE(decode(*encoder.encode(message), back).is_ok());
    const uint64_t before = test::allocation_count();
    bool is_fine = true;
    for (int i = 0; i < 1000; ++i) is_fine &= decode(*encoder.encode(message), back).is_ok();
    CHECK(test::allocation_count() == before);
    CHECK(is_fine);
    CHECK(to_json(back) == to_json(message));
  }
}

TEST_CASE("an encoder grows for a large message and forgets it for the next") {
  Message large = sample_message<ModelOutput>();
  auto& output = std::get<ModelOutput>(large.body).outputs[0];
  output.values.resize(100000);
  for (size_t i = 0; i < output.values.size(); ++i) output.values[i] = static_cast<float>(i);
  Encoder encoder;
  Message back;
  REQUIRE(decode(*encoder.encode(large), back).is_ok());
  CHECK(std::get<ModelOutput>(back.body).outputs[0].values == output.values);

  const Message small = sample_message<Controls>();
  const base::Bytes bytes = *encoder.encode(small);
  const std::vector<std::byte> fresh = encoded(small);
  CHECK(std::vector<std::byte>(bytes.begin(), bytes.end()) == fresh);
}

TEST_CASE("bytes that are no message are refused with a sentence") {
  Message back;
  CHECK(decode({}, back).code() == base::Code::kCorrupt);
  CHECK(test::last_sentence().find("0 bytes are not a well-formed message") != std::string::npos);
  std::vector<std::byte> bytes = encoded(sample_message<Health>());
  CHECK(decode(base::Bytes(bytes).first(bytes.size() - 8), back).code() == base::Code::kCorrupt);
  CHECK(decode(base::Bytes(bytes).first(bytes.size() - 1), back).code() == base::Code::kCorrupt);
  base::store_le<uint32_t>(bytes.data(), 5);  // segments
  CHECK(decode(bytes, back).code() == base::Code::kCorrupt);
}

TEST_CASE("a message may be anywhere in memory") {
  const std::vector<std::byte> bytes = encoded(sample_message<Health>());
  std::vector<std::byte> shifted(bytes.size() + 3);
  std::memcpy(shifted.data() + 3, bytes.data(), bytes.size());
  Message back;
  REQUIRE(decode(base::Bytes(shifted).subspan(3), back).is_ok());
  CHECK(to_json(back) == to_json(sample_message<Health>()));
}

TEST_CASE("messages of several segments, as other writers make them, are read too") {
  capnp::MallocMessageBuilder builder(8, capnp::AllocationStrategy::FIXED_SIZE);
  auto message = builder.initRoot<wire::Message>();
  message.setService("health");
  auto health = message.initHealth();
  health.setProcess("modeld");
  health.setReason("a text that is too long for the segment that it began in, so there are more");
  REQUIRE(builder.getSegmentsForOutput().size() > 1);
  const auto words = capnp::messageToFlatArray(builder);
  const auto bytes = words.asBytes();
  Message back;
  REQUIRE(decode({reinterpret_cast<const std::byte*>(bytes.begin()), bytes.size()}, back).is_ok());
  CHECK(std::get<Health>(back.body).process == "modeld");
}

TEST_CASE("changed bytes never crash, and never allocate without bound") {
  std::mt19937 random(1);
  size_t refused = 0, taken = 0;
  for (const Message& message : sample_messages()) {
    const std::vector<std::byte> good = encoded(message);
    for (int i = 0; i < 5000; ++i) {
      std::vector<std::byte> bytes = good;
      for (int changes = 1 + random() % 8; changes > 0; --changes) {
        bytes[random() % bytes.size()] = static_cast<std::byte>(random());
      }
      Message back;
      const uint64_t before = test::allocated_bytes();
      (decode(bytes, back).is_ok() ? taken : refused) += 1;
      REQUIRE(test::allocated_bytes() - before <= 64 * bytes.size() + 4096);
      CHECK(!to_json(back).empty());
    }
  }
  CHECK(refused > 0);
  CHECK(taken > 0);
}

TEST_CASE("JSON is well-formed whatever a message holds") {
  Message message = sample_message<VehicleState>();
  message.reason = "quote \" backslash \\ newline \n bad \xff\xc0\x80 good \xc3\xa4 \xed\xa0\x80";
  std::get<VehicleState>(message.body).speed_mps = std::nanf("");
  const std::string text = to_json(message);
  CHECK(text.find("quote \\\" backslash \\\\ newline \\u000a bad "
                  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd good \xc3\xa4 "
                  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd") != std::string::npos);
  CHECK(text.find("\"speedMps\":null") != std::string::npos);
  CHECK(text.find("\"gear\":\"drive\"") != std::string::npos);
  CHECK(to_json(Message()) ==
        "{\"service\":\"\",\"monoTimeNs\":0,\"valid\":false,\"reason\":\"\",\"body\":\"none\","
        "\"none\":{}}");
}

}  // namespace camshaft::schema
