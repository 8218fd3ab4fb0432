// SPDX-License-Identifier: MIT
// Old readers on new writers and new readers on old ones. The old program is
// messages_v1.capnp.frozen, read at run time by Cap'n Proto's schema loader; a future one is
// today's schema with more in it.
#include <capnp/dynamic.h>
#include <capnp/schema-loader.h>
#include <capnp/schema.capnp.h>
#include <capnp/serialize.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "msgq/schema/codec.h"
#include "msgq/schema/json.h"
#include "tests/msgq/schema/sample_messages.h"
#include "tests/support/temporary_folder.h"

namespace camshaft::schema {
namespace {

constexpr const char* kNow = "msgq/schema/messages.capnp";
constexpr const char* kFirst = "tests/msgq/schema/messages_v1.capnp.frozen";

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  REQUIRE(!text.str().empty());
  return text.str();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// What the compiler of schemas makes of a schema's text.
class CompiledSchema {
 public:
  explicit CompiledSchema(const std::string& text) {
    const test::TemporaryFolder folder;
    std::ofstream(folder / "schema.capnp") << text;
    FILE* const pipe = ::popen(("capnp compile -o- " + (folder / "schema.capnp")).c_str(), "r");
    REQUIRE(pipe != nullptr);
    for (uint64_t word = 0; std::fread(&word, sizeof word, 1, pipe) == 1;) words_.push_back(word);
    REQUIRE(::pclose(pipe) == 0);
  }

  void load_into(capnp::SchemaLoader& loader) const {
    capnp::FlatArrayMessageReader reader(
        {reinterpret_cast<const capnp::word*>(words_.data()), words_.size()});
    for (const auto node : reader.getRoot<capnp::schema::CodeGeneratorRequest>().getNodes()) {
      loader.load(node);
    }
  }

 private:
  std::vector<uint64_t> words_;
};

// A program that was built from some version of the schema.
class OtherProgram {
 public:
  explicit OtherProgram(const std::string& schema) {
    CompiledSchema(schema).load_into(loader_);
    for (const auto type : loader_.getAllLoaded()) {
      const std::string name = type.getProto().getDisplayName().cStr();
      if (name.ends_with(":Message")) message_ = type.asStruct();
    }
    REQUIRE(message_.getFields().size() > 4);
  }

  capnp::StructSchema message() const { return message_; }

  // As text: the field's values that this program knows of.
  std::string read(base::Bytes bytes) const {
    capnp::FlatArrayMessageReader reader(
        {reinterpret_cast<const capnp::word*>(bytes.data()), bytes.size() / 8});
    return kj::str(reader.getRoot<capnp::DynamicStruct>(message_)).cStr();
  }

  template <typename Fill>
  std::vector<std::byte> write(Fill&& fill) const {
    capnp::MallocMessageBuilder builder;
    fill(builder.initRoot<capnp::DynamicStruct>(message_));
    const auto words = capnp::messageToFlatArray(builder);
    const auto bytes = words.asBytes();
    std::vector<std::byte> copy(bytes.size());
    std::memcpy(copy.data(), bytes.begin(), bytes.size());
    return copy;
  }

 private:
  capnp::SchemaLoader loader_;
  capnp::StructSchema message_;
};

// Whether a program may replace another while messages and logs of the other are about.
bool is_compatible(const std::string& older, const std::string& newer) {
  try {
    capnp::SchemaLoader loader;
    CompiledSchema(older).load_into(loader);
    CompiledSchema(newer).load_into(loader);
    return true;
  } catch (const kj::Exception&) {
    return false;
  }
}

Message sample_health() {
  Message message = sample_message<Health>();
  auto& health = std::get<Health>(message.body);
  health.process = "modeld";
  health.up_ns = 77;
  health.temperature_c = 55;
  return message;
}

std::string future_schema() {
  std::string text = text_of(kNow);
  text = replaced(text, "    health @11 :Health;\n",
                  "    health @11 :Health;\n    radar @12 :Radar;\n");
  text = replaced(text, "  temperatureC @9 :Float32;\n",
                  "  temperatureC @9 :Float32;\n  fanRpm @10 :Float32;\n  rack @11 :Text;\n");
  return text + "\nstruct Radar {\n  rangeM @0 :Float32;\n}\n";
}

}  // namespace

TEST_CASE("the schema has only grown since its first version") {
  CHECK(is_compatible(text_of(kFirst), text_of(kNow)));
  CHECK(is_compatible(text_of(kNow), future_schema()));
}

// Negative controls of is_compatible().
TEST_CASE("changes that would break readers are noticed") {
  const std::string first = text_of(kFirst);
  const std::string now = text_of(kNow);
  const auto changed = [&](const char* from, const char* to) {
    return is_compatible(first, replaced(now, from, to));
  };
  CHECK_FALSE(changed("camera @0 :Text", "camera @0 :UInt64"));                 // retyped
  CHECK_FALSE(changed("speedMps @0 :Float32", "speedMps @0 :Float64"));         // widened
  CHECK_FALSE(changed("    health @11 :Health", "    health @11 :LogHeader"));  // another body
  CHECK_FALSE(changed("    controls @8 :Controls", "    controls @8 :Text"));
}

TEST_CASE("a new reader understands an old writer") {
  const OtherProgram old_program(text_of(kFirst));
  const auto bytes = old_program.write([](capnp::DynamicStruct::Builder message) {
    message.set("service", "health");
    message.set("monoTimeNs", 123);
    message.set("valid", true);
    auto health = message.init("health").as<capnp::DynamicStruct>();
    health.set("process", "modeld");
    health.set("upNs", 77);
    health.set("framesSkipped", 9);
  });
  Message message;
  REQUIRE(decode(bytes, message).is_ok());
  CHECK(message.service == "health");
  CHECK(message.mono_time_ns == 123);
  CHECK(message.valid);
  const auto& health = std::get<Health>(message.body);
  CHECK(health.process == "modeld");
  CHECK(health.up_ns == 77);
  CHECK(health.frames_skipped == 9);
  CHECK(health.temperature_c == 0);  // which the old writer does not know
}

TEST_CASE("an old reader understands a new writer") {
  Encoder encoder;
  const base::Bytes bytes = *encoder.encode(sample_health());
  const std::string old_text = OtherProgram(text_of(kFirst)).read(bytes);
  CHECK(old_text.find("process = \"modeld\"") != std::string::npos);
  CHECK(old_text.find("upNs = 77") != std::string::npos);
  CHECK(old_text.find("temperatureC") == std::string::npos);
  // Control: a program of today sees the new field in the same bytes.
  CHECK(OtherProgram(text_of(kNow)).read(bytes).find("temperatureC = 55") != std::string::npos);
}

TEST_CASE("this program understands writers of the future") {
  const OtherProgram future(future_schema());
  Message message;
  SECTION("more fields") {
    const auto bytes = future.write([](capnp::DynamicStruct::Builder to) {
      auto health = to.init("health").as<capnp::DynamicStruct>();
      health.set("process", "modeld");
      health.set("temperatureC", 55);
      health.set("fanRpm", 1200);
      health.set("rack", "left");
    });
    REQUIRE(decode(bytes, message).is_ok());
    CHECK(std::get<Health>(message.body).process == "modeld");
    CHECK(std::get<Health>(message.body).temperature_c == 55);
  }
  SECTION("a body that it has no name for") {
    const auto bytes = future.write([](capnp::DynamicStruct::Builder to) {
      to.set("service", "radar");
      to.set("valid", true);
      to.init("radar").as<capnp::DynamicStruct>().set("rangeM", 30);
    });
    REQUIRE(decode(bytes, message).is_ok());
    CHECK(message.service == "radar");
    CHECK(message.body.index() == 0);
  }
}

}  // namespace camshaft::schema
