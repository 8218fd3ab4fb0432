// SPDX-License-Identifier: MIT
#include "devices/hwio/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "runtime/base/bytes.h"

using namespace camshaft;

TEST_CASE("a sealed memory file can be mapped but never changed", "[hwio]") {
  hwio::MemoryCalls& calls = hwio::system_memory_calls();
  const int fd = calls.create_memory_file("test");
  REQUIRE(fd >= 0);
  CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
  const base::Bytes text = base::as_bytes(std::string_view("some bytes"));
  CHECK(calls.write_at(fd, text, 0) == 0);
  CHECK(calls.write_at(fd, text, 100) == 0);
  CHECK(lseek(fd, 0, SEEK_END) == 110);
  REQUIRE(calls.seal(fd) == 0);
  CHECK(calls.write_at(fd, text, 0) == -EPERM);
  CHECK(calls.seal(fd) == -EPERM);  // sealed against more seals
  void* mapped = nullptr;
  CHECK(calls.map(nullptr, 110, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0, &mapped) == -EPERM);
  REQUIRE(calls.map(nullptr, 110, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0, &mapped) == 0);
  calls.close(fd);
  CHECK(std::memcmp(static_cast<const char*>(mapped) + 100, "some bytes", 10) == 0);
  calls.unmap(mapped, 110);
}

TEST_CASE("failures are negative error numbers", "[hwio]") {
  hwio::MemoryCalls& calls = hwio::system_memory_calls();
  const base::Bytes text = base::as_bytes(std::string_view("x"));
  CHECK(calls.write_at(-1, text, 0) == -EBADF);
  CHECK(calls.write_at(-1, {}, 0) == 0);
  CHECK(calls.seal(-1) == -EBADF);
  void* mapped = nullptr;
  CHECK(calls.map(nullptr, size_t{1} << 60, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0,
                  &mapped) == -ENOMEM);
  CHECK(mapped == nullptr);
  CHECK(calls.protect(nullptr, 4096, PROT_READ) == -ENOMEM);
  CHECK(hwio::page_size_bytes() % 4096 == 0);
}
