// SPDX-License-Identifier: MIT
// What top and echo say of a topic.
#include <catch2/catch.hpp>

#include "msgq/schema/codec.h"
#include "tools/command/message_text.h"
#include "tools/command/topic_rates.h"

namespace camshaft::command {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

TopicLook look(uint64_t newest, int64_t time_ns, uint64_t payload_bytes) {
  TopicLook made;
  made.info.name = "modelOutput";
  made.info.has_publisher = true;
  made.info.publisher_pid = 77;
  made.info.newest_sequence = newest;
  made.info.newest_mono_time_ns = time_ns - kSecondNs / 100;
  made.info.payload_bytes = payload_bytes;
  made.time_ns = time_ns;
  return made;
}

queue::ReaderInfo reader(const char* name, uint64_t next, uint64_t dropped) {
  queue::ReaderInfo made;
  made.name = name;
  made.pid = 5;
  made.next_sequence = next;
  made.dropped = dropped;
  return made;
}

}  // namespace

TEST_CASE("rates are what happened between two looks", "[topics]") {
  TopicLook before = look(100, 10 * kSecondNs, 5000);
  TopicLook now = look(140, 12 * kSecondNs, 9000);
  before.info.readers = {reader("controlsd", 101, 3)};
  now.info.readers = {reader("controlsd", 141, 3), reader("loggerd", 131, 8)};
  const TopicRates rates = rates_between(before, now);
  CHECK(rates.rate_hz == Approx(20));
  CHECK(rates.bytes_per_s == Approx(2000));
  CHECK(rates.age_s == Approx(0.01));
  CHECK(rates.schema == "modelOutput");
  CHECK(rates.nominal_hz == Approx(20));
  CHECK_FALSE(rates.is_slow());
  REQUIRE(rates.readers.size() == 2);
  CHECK(rates.readers[0].behind == 0);
  CHECK(rates.readers[0].behind_s == 0);
  CHECK(rates.readers[0].dropped == 0);
  CHECK(rates.readers[0].dropped_total == 3);
  CHECK(rates.readers[1].behind == 10);
  CHECK(rates.readers[1].behind_s == Approx(0.46));  // 9 periods of 50 ms before the newest
  CHECK(rates.readers[1].dropped == 8);
  const std::string text = rates_text({rates});
  CHECK(text.find("modelOutput  20.0 Hz") != std::string::npos);
  CHECK(text.find("controlsd, loggerd (10 behind)") != std::string::npos);
  CHECK(rates_json({rates})[0]["readers"][1]["behind"] == 10);
}

TEST_CASE("slow, silent and new topics", "[topics]") {
  const TopicLook before = look(100, 10 * kSecondNs, 5000);
  CHECK(rates_between(before, look(115, 11 * kSecondNs, 6000)).is_slow());
  CHECK(rates_text({rates_between(before, look(115, 11 * kSecondNs, 6000))}).find("15.0 Hz !") !=
        std::string::npos);
  TopicLook gone = look(100, 11 * kSecondNs, 5000);
  gone.info.has_publisher = false;
  CHECK_FALSE(rates_between(before, gone).is_slow());
  CHECK(rates_text({rates_between(before, gone)}).find("none") != std::string::npos);
  // Made anew: its numbers began again.
  const TopicRates anew = rates_between(before, look(5, 11 * kSecondNs, 100));
  CHECK(anew.rate_hz == 0);
  TopicLook empty = look(0, 11 * kSecondNs, 0);
  CHECK(rates_between(empty, empty).age_s < 0);
  CHECK(rates_json({rates_between(empty, empty)})[0]["age_s"].is_null());
}

TEST_CASE("messages as text and JSON", "[topics]") {
  schema::Message message;
  message.service = "modelOutput";
  message.reason = "no \x1b[31mcamera";
  schema::ModelOutput output;
  output.frame_id = 42;
  output.outputs = {{.name = "plan", .unit = "m", .shape = {20}, .values = {}}};
  output.outputs[0].values.resize(20, 1.5F);
  message.body = output;
  schema::Encoder encoder;
  const base::Bytes bytes = *encoder.encode(message);
  const io::Json json = message_json(
      {.topic = "modelOutput", .sequence = 7, .sent_ns = 1, .age_s = 0.012, .dropped = 2}, bytes);
  CHECK(json["message"]["modelOutput"]["frameId"] == 42);
  CHECK(json["message"]["modelOutput"]["outputs"][0]["values"].size() == 20);
  CHECK(json["sequence"] == 7);
  const std::string text = message_text(json);
  CHECK(text.find("modelOutput #7, ") == 0);
  CHECK(text.find("12.0 ms old, after 2 lost\n") != std::string::npos);
  CHECK(text.find("  not valid: no ?[31mcamera\n") != std::string::npos);
  CHECK(text.find("  frameId: 42\n") != std::string::npos);
  CHECK(text.find("  outputs[0]:\n    name: plan\n") != std::string::npos);
  CHECK(text.find("1.5, ... 20]\n") != std::string::npos);
}

TEST_CASE("bytes that are no message are shown as bytes", "[topics]") {
  const base::Bytes bytes = base::as_bytes(std::string_view("rubbish!"));
  for (const char* topic : {"modelOutput", "myOwnTopic"}) {
    const io::Json json = message_json({.topic = topic, .sequence = 1}, bytes);
    CHECK_FALSE(json.contains("message"));
    CHECK(json["begins"] == "7275626269736821");
    CHECK(message_text(json).find("  bytes: 7275626269736821\n") != std::string::npos);
  }
}

}  // namespace camshaft::command
