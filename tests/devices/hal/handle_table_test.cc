// SPDX-License-Identifier: MIT
#include "devices/hal/handle_table.h"

#include <catch2/catch.hpp>
#include <memory>

using camshaft::hal::HandleTable;

TEST_CASE("handles name what was added until it is taken", "[hal]") {
  HandleTable<std::unique_ptr<int>> table;
  const uint32_t first = *table.add(std::make_unique<int>(10));
  const uint32_t second = *table.add(std::make_unique<int>(20));
  CHECK(first != 0);
  CHECK(second > first);
  CHECK(**table.find(first) == 10);
  CHECK(**table.find(second) == 20);
  CHECK(table.find(0) == nullptr);
  CHECK(table.find(second + 1) == nullptr);
  CHECK(**table.take(first) == 10);
  CHECK(table.find(first) == nullptr);
  CHECK_FALSE(table.take(first).has_value());
  CHECK(**table.find(second) == 20);
  CHECK(*table.add(nullptr) > second);
  CHECK(table.entries().size() == 2);
}

TEST_CASE("foreign numbers must rise", "[hal]") {
  HandleTable<int> table;
  CHECK(table.add_as(5, 50));
  CHECK_FALSE(table.add_as(5, 51));
  CHECK_FALSE(table.add_as(4, 40));
  CHECK(table.add_as(UINT32_MAX, 60));
  CHECK(*table.find(5) == 50);
  CHECK(*table.find(UINT32_MAX) == 60);
  CHECK(table.add(70).error().code() == camshaft::base::Code::kOutOfMemory);
}
