// SPDX-License-Identifier: MIT
// Topics as files: who owns them, how they are replaced, what damage does at opening.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "msgq/queue/layout.h"
#include "msgq/queue/publisher.h"
#include "msgq/queue/subscriber.h"
#include "tests/msgq/queue/test_domain.h"
#include "tests/support/last_sentence.h"

namespace camshaft::queue {
namespace {

using base::Code;
using camshaft::test::last_sentence;
using test::in_ms;
using test::TestDomain;

base::Result<Publisher> try_publisher(const TestDomain& domain, PublisherOptions options = {}) {
  options.domain = domain.options();
  return Publisher::open("topic", options);
}

base::Result<Subscriber> try_subscriber(const TestDomain& domain, SubscriberOptions options = {}) {
  options.domain = domain.options();
  return Subscriber::open("topic", options);
}

std::string next_text(Subscriber& subscriber) {
  auto message = subscriber.borrow();
  if (!message) return std::string("error: ") + base::code_name(message.error().code());
  return *message ? std::string(base::as_text(message->bytes())) : "nothing";
}

void send(Publisher& publisher, std::string_view text) {
  REQUIRE(publisher.publish(base::as_bytes(text)).is_ok());
}

void overwrite(const std::string& path, uint64_t offset, std::string_view bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(file.good());
}

TEST_CASE("a second publisher is refused") {
  const TestDomain domain;
  auto first = try_publisher(domain);
  REQUIRE(first);
  auto second = try_publisher(domain);
  CHECK(second.error().code() == Code::kBusy);
  CHECK(last_sentence().find("has a publisher, process " + std::to_string(::getpid())) !=
        std::string::npos);
  send(*first, "still here");
}

TEST_CASE("a second publisher takes over by choice; readers follow, the first one is told") {
  const TestDomain domain;
  auto first = try_publisher(domain);
  auto subscriber = try_subscriber(domain);
  REQUIRE(first);
  REQUIRE(subscriber);
  send(*first, "old");
  auto second = try_publisher(domain, {.if_taken = IfTaken::kTakeOver});
  REQUIRE(second);
  CHECK(first->publish({}).code() == Code::kNotFound);
  CHECK(first->publish({}).code() == Code::kNotFound);
  CHECK(first->resize({}).code() == Code::kNotFound);
  send(*second, "new");
  CHECK(second->newest_sequence() > first->newest_sequence());
  CHECK(next_text(*subscriber) == "old");
  CHECK(next_text(*subscriber) == "new");
  CHECK(next_text(*subscriber) == "nothing");
  CHECK(subscriber->dropped() == 0);
  CHECK(try_publisher(domain).error().code() == Code::kBusy);
}

TEST_CASE("a publisher that comes back goes on in the same file, with its history") {
  const TestDomain domain;
  auto subscriber = try_subscriber(domain);
  for (int round = 1; round <= 3; ++round) {
    auto publisher = try_publisher(domain);
    REQUIRE(publisher);
    send(*publisher, "round " + std::to_string(round));
    CHECK(publisher->newest_sequence() == static_cast<uint64_t>(round));
  }
  CHECK_FALSE(subscriber->has_publisher());
  for (int round = 1; round <= 3; ++round) {
    CHECK(next_text(*subscriber) == "round " + std::to_string(round));
  }
  auto late = try_subscriber(domain, {.start = Start::kNewest});
  CHECK(next_text(*late) == "round 3");
}

TEST_CASE("a reader may come before the topic") {
  const TestDomain domain;
  auto subscriber = try_subscriber(domain);
  REQUIRE(subscriber);
  CHECK_FALSE(subscriber->is_connected());
  CHECK(subscriber->max_message_bytes() == 0);
  CHECK(subscriber->wait(in_ms(2)).code() == Code::kDeadlineExceeded);
  CHECK(next_text(*subscriber) == "nothing");
  auto publisher = try_publisher(domain);
  send(*publisher, "first");
  CHECK(subscriber->wait(0).is_ok());
  CHECK(next_text(*subscriber) == "first");
  CHECK(subscriber->is_connected());
  CHECK(subscriber->has_publisher());
}

TEST_CASE("a topic made anew with another size is noticed by both sides") {
  const TestDomain domain;
  auto subscriber = try_subscriber(domain);
  {
    auto publisher = try_publisher(domain);
    CHECK(next_text(*subscriber) == "nothing");  // but it has seen the file
    send(*publisher, "small");
  }
  auto publisher = try_publisher(domain, {.size = {.ring_bytes = 1 << 22, .messages = 1024}});
  REQUIRE(publisher);
  CHECK(publisher->max_message_bytes() == 1 << 21);
  send(*publisher, std::string(1 << 21, 'L'));
  CHECK(next_text(*subscriber) == "small");
  const bool is_same = next_text(*subscriber) == std::string(1 << 21, 'L');
  CHECK(is_same);
  CHECK(subscriber->max_message_bytes() == 1 << 21);
}

TEST_CASE("a topic changes its size under its readers, who lose nothing") {
  const TestDomain domain;
  auto publisher = try_publisher(domain);
  auto subscriber = try_subscriber(domain);
  for (const uint64_t ring_bytes : {1 << 16, 1 << 21, 1 << 14}) {
    send(*publisher, "before");
    auto held = subscriber->borrow();
    REQUIRE(held);
    REQUIRE(publisher->resize({.ring_bytes = ring_bytes, .messages = 64}).is_ok());
    CHECK(publisher->max_message_bytes() == ring_bytes / 2);
    send(*publisher, "after");
    CHECK(base::as_text(held->bytes()) == "before");  // what is held outlives the file's name
    CHECK(held->release());
    auto next = subscriber->borrow();
    REQUIRE(next);
    CHECK(base::as_text(next->bytes()) == "after");
    CHECK(next->info().sequence == publisher->newest_sequence());
    CHECK(next->info().dropped == 0);
  }
  CHECK(subscriber->received() == 6);
  CHECK(publisher->resize({.ring_bytes = 0}).code() == Code::kInvalidArgument);
  send(*publisher, "still good");
}

TEST_CASE("another schema is refused at opening and noticed when a topic changes to it") {
  const TestDomain domain;
  auto publisher = try_publisher(domain, {.schema_hash = 1});
  CHECK(try_subscriber(domain, {.schema_hash = 2}).error().code() == Code::kUnsupported);
  CHECK(last_sentence().find("has schema 0000000000000001 and this reader expects") !=
        std::string::npos);
  auto subscriber = try_subscriber(domain, {.schema_hash = 1});
  auto any = try_subscriber(domain);
  REQUIRE(subscriber);
  REQUIRE(any);
  publisher = try_publisher(domain, {.schema_hash = 2, .if_taken = IfTaken::kTakeOver});
  send(*publisher, "new meaning");
  CHECK(subscriber->is_ready());
  CHECK(next_text(*subscriber) == "error: unsupported");
  CHECK_FALSE(subscriber->is_ready());  // reported once
  CHECK(next_text(*subscriber) == "nothing");
  CHECK(next_text(*any) == "new meaning");
  CHECK(any->schema_hash() == 2);
  publisher = try_publisher(domain, {.schema_hash = 1, .if_taken = IfTaken::kTakeOver});
  send(*publisher, "as before");
  CHECK(subscriber->is_ready());
  CHECK(next_text(*subscriber) == "as before");
}

TEST_CASE("40 readers on 12 slots get a clear refusal, and a slot that is left is free") {
  const TestDomain domain;
  auto publisher = try_publisher(domain, {.size = {.reader_slots = 12}});
  std::vector<Subscriber> readers;
  int refused = 0;
  for (int i = 0; i < 40; ++i) {
    auto reader = try_subscriber(domain);
    if (reader) {
      readers.push_back(std::move(*reader));
    } else {
      CHECK(reader.error().code() == Code::kBusy);
      ++refused;
    }
  }
  CHECK(refused == 28);
  CHECK(last_sentence() ==
        "all 12 reader slots of the topic topic are taken: end a reader, or let the publisher open "
        "it with more reader_slots");
  send(*publisher, "for all");
  for (Subscriber& reader : readers) CHECK(next_text(reader) == "for all");
  readers.pop_back();
  CHECK(try_subscriber(domain));
}

TEST_CASE("a file that is removed by hand is noticed by both sides") {
  const TestDomain domain;
  auto publisher = try_publisher(domain);
  auto subscriber = try_subscriber(domain);
  send(*publisher, "last");
  REQUIRE(::unlink(domain.path("topic").c_str()) == 0);
  CHECK(subscriber->wait(0).is_ok());
  CHECK(next_text(*subscriber) == "last");
  auto other = try_publisher(domain);
  REQUIRE(other);
  send(*other, "from the new file");
  CHECK(subscriber->wait(in_ms(60'000)).is_ok());
  CHECK(next_text(*subscriber) == "from the new file");
  while (publisher->publish({}).is_ok()) ::usleep(10'000);  // it looks once a second
  CHECK(publisher->publish({}).code() == Code::kNotFound);
}

TEST_CASE("files belong to their user alone, unless a mode is given, whatever the umask") {
  const TestDomain domain;
  const mode_t before = ::umask(0);
  auto publisher = try_publisher(domain);
  struct stat info = {};
  REQUIRE(::stat(domain.path("topic").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  REQUIRE(::stat(domain.folder().c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
  ::umask(0077);
  const TestDomain shared;
  auto open_to_all = try_publisher(shared, {.mode = 0666});
  REQUIRE(::stat(shared.path("topic").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0666);
  REQUIRE(::stat(shared.folder().c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0777);
  REQUIRE(::stat((shared.folder() + "/.bells").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0666);
  ::umask(before);
}

TEST_CASE("topics can be listed, looked at and removed") {
  const TestDomain domain;
  CHECK(list_topics(domain.options()).value().empty());
  CHECK(inspect_topic("topic", domain.options()).error().code() == Code::kNotFound);
  CHECK(last_sentence() ==
        "there is no topic 'topic': nothing has published it yet, or it has another prefix");
  {
    auto publisher = try_publisher(domain, {.schema_hash = 5});
    auto other = Publisher::open("another", {.domain = domain.options()});
    auto subscriber = try_subscriber(domain, {.name = "the reader"});
    send(*publisher, "12345");
    send(*publisher, "123");
    const Message held = std::move(*subscriber->borrow());
    CHECK(list_topics(domain.options()).value() == std::vector<std::string>{"another", "topic"});
    const TopicInfo info = std::move(*inspect_topic("topic", domain.options()));
    CHECK(info.schema_hash == 5);
    CHECK(info.size == TopicSize{});
    CHECK(info.has_publisher);
    CHECK(info.publisher_pid == static_cast<uint64_t>(::getpid()));
    CHECK(info.newest_sequence == 2);
    CHECK(info.oldest_sequence == 1);
    CHECK(info.newest_size_bytes == 3);
    CHECK(info.payload_bytes == 8);
    CHECK(info.newest_mono_time_ns > 0);
    REQUIRE(info.readers.size() == 1);
    CHECK(info.readers[0].name == "the reader");
    CHECK(info.readers[0].pid == static_cast<uint64_t>(::getpid()));
    CHECK(info.readers[0].received == 1);
    CHECK(info.readers[0].next_sequence == 2);
    CHECK(info.readers[0].holds_message);
    CHECK(remove_topic("topic", domain.options()).code() == Code::kBusy);
  }
  const TopicInfo info = std::move(*inspect_topic("topic", domain.options()));
  CHECK_FALSE(info.has_publisher);
  CHECK(info.readers.empty());
  CHECK(remove_topic("topic", domain.options()).is_ok());
  CHECK(remove_topic("topic", domain.options()).code() == Code::kNotFound);
}

TEST_CASE("the prefix comes from the environment where none is given") {
  const TestDomain domain;
  ::setenv("CAMSHAFT_PREFIX", domain.options().prefix.c_str(), 1);
  auto publisher = Publisher::open("topic", {});
  ::unsetenv("CAMSHAFT_PREFIX");
  REQUIRE(publisher);
  CHECK(list_topics(domain.options()).value() == std::vector<std::string>{"topic"});
  CHECK(list_topics({.prefix = "no/folder"}).error().code() == Code::kInvalidArgument);
}

TEST_CASE("a file that is no topic is refused by readers and replaced by publishers") {
  const TestDomain domain;
  {
    auto make_folder = try_publisher(domain);
  }
  const std::string path = domain.path("topic");
  const auto content = GENERATE(std::string(), std::string(100, '\0'), std::string(5000, 'x'));
  std::ofstream(path, std::ios::binary) << content;
  CHECK(try_subscriber(domain).error().code() == Code::kCorrupt);
  CHECK(inspect_topic("topic", domain.options()).error().code() == Code::kCorrupt);
  auto publisher = try_publisher(domain);
  REQUIRE(publisher);
  send(*publisher, "x");
  CHECK(try_subscriber(domain));
}

TEST_CASE("each field of the header is checked") {
  const TestDomain domain;
  {
    auto publisher = try_publisher(domain);
  }
  const std::string path = domain.path("topic");
  for (uint64_t offset = 0; offset < sizeof(Constants); offset += 4) {
    std::string word(4, '\0');
    std::ifstream(path).seekg(static_cast<std::streamoff>(offset)).read(word.data(), 4);
    std::string other = word;
    other[1] = static_cast<char>(other[1] ^ 0x21);
    overwrite(path, offset, other);
    const Code code = try_subscriber(domain).error().code();
    CHECK(code == (offset == 8 ? Code::kUnsupported : Code::kCorrupt));
    overwrite(path, offset, word);
    CHECK(try_subscriber(domain));
  }
  REQUIRE(::truncate(path.c_str(), 300'000) == 0);
  CHECK(try_subscriber(domain).error().code() == Code::kCorrupt);
  CHECK(last_sentence().find("somebody cut it") != std::string::npos);
}

TEST_CASE("a damaged header is repaired by the living publisher and keeps others out till then") {
  const TestDomain domain;
  auto publisher = try_publisher(domain);
  auto subscriber = try_subscriber(domain);
  overwrite(domain.path("topic"), 0, std::string(128, 'z'));
  CHECK(try_subscriber(domain).error().code() == Code::kCorrupt);
  CHECK(try_publisher(domain).error().code() == Code::kBusy);
  base::Result<Subscriber> late = try_subscriber(domain);
  for (int i = 0; i < 200 && !late; ++i) {  // it looks once a second
    send(*publisher, "going on");
    ::usleep(10'000);
    late = try_subscriber(domain);
  }
  CHECK(late);
  CHECK(next_text(*subscriber) == "going on");
}

TEST_CASE("what a publisher leaves that dies while it makes a topic is cleared away") {
  const TestDomain domain;
  {
    auto publisher = try_publisher(domain);
  }
  const std::string dead = domain.folder() + "/.topic.new-0123";
  const std::string alive = domain.folder() + "/.topic.new-4567";
  std::ofstream(dead) << "left";
  const int fd = ::open(alive.c_str(), O_RDWR | O_CREAT, 0600);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_start = kPublisherLockByte;
  lock.l_len = 1;
  REQUIRE(::fcntl(fd, F_OFD_SETLK, &lock) == 0);
  {
    auto publisher = try_publisher(domain);
  }
  CHECK(::access(dead.c_str(), F_OK) != 0);
  CHECK(::access(alive.c_str(), F_OK) == 0);
  ::close(fd);
}

TEST_CASE("memory that isn't there is an error at opening") {
  const TestDomain domain;
  {
    auto publisher = try_publisher(domain);
  }
  struct statvfs info = {};
  REQUIRE(::statvfs("/dev/shm", &info) == 0);
  if (info.f_blocks * info.f_frsize > kMaxRingBytes) return;
  CHECK(try_publisher(domain, {.size = {.ring_bytes = kMaxRingBytes}}).error().code() ==
        Code::kOutOfMemory);
  CHECK(list_topics(domain.options()).value().size() == 1);
}

}  // namespace
}  // namespace camshaft::queue
