// SPDX-License-Identifier: MIT
#include "devices/hal/registry.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "devices/registry.h"
#include "tests/support/last_sentence.h"

using namespace camshaft;
using test::last_sentence;

TEST_CASE("the table has unique names, and each backend says its own", "[hal]") {
  std::set<std::string> names;
  for (const hal::Backend& backend : devices::backends()) {
    CHECK(names.insert(backend.name).second);
    for (const hal::DeviceInfo& info : backend.probe()) {
      CHECK(std::string(info.backend) == backend.name);
      CHECK(std::string(info.name) != "");
    }
  }
  CHECK(names.count("cpu") == 1);
  CHECK(names.count("null") == 1);
}

TEST_CASE("devices are listed and opened by name", "[hal]") {
  CHECK(hal::list_devices(devices::backends()).size() >= 2);
  CHECK(hal::list_devices({}).empty());
  const auto device = hal::open_device(devices::backends(), "null:0", {});
  REQUIRE(device);
  CHECK(std::string((*device)->info().backend) == "null");
}

TEST_CASE("an index in the name overrides the option", "[hal]") {
  hal::OpenOptions options;
  options.index = 7;
  CHECK(hal::open_device(devices::backends(), "null:0", options).has_value());
  CHECK(hal::open_device(devices::backends(), "null", options).error().code() ==
        base::Code::kWrongTarget);
  CHECK(hal::open_device(devices::backends(), "null:Null dev", options).has_value());
}

TEST_CASE("a wrong device name is answered with the known ones", "[hal]") {
  CHECK(hal::open_device(devices::backends(), "gpu", {}).error().code() ==
        base::Code::kInvalidArgument);
  CHECK(last_sentence().find("cpu, null") != std::string::npos);
  CHECK(last_sentence().find("did you mean") == std::string::npos);
  CHECK(hal::open_device(devices::backends(), "nul", {}).error().code() ==
        base::Code::kInvalidArgument);
  CHECK(last_sentence().find("'nul' (did you mean 'null'?)") != std::string::npos);
  for (const char* name : {"null:", "", "null:99999999999"}) {
    CHECK(hal::open_device(devices::backends(), name, {}).error().code() ==
          base::Code::kInvalidArgument);
  }
  for (const char* name : {"null:x", "null:1x", "null:-1"}) {
    CHECK(hal::open_device(devices::backends(), name, {}).error().code() ==
          base::Code::kWrongTarget);
    CHECK(last_sentence().find("they are: null device") != std::string::npos);
  }
  CHECK(hal::open_device(devices::backends(), "null:1", {}).error().code() ==
        base::Code::kWrongTarget);
}
