// SPDX-License-Identifier: MIT
// How long a message takes from its sender to its receivers, one way, in one interleaved run: ours
// beside the least that a futex can do and beside what people use otherwise. Latency is from the
// moment when a message is put together to the moment when a receiver has it; in place where the
// channel can, copied where it must be.
//
//   queue_bench [--rounds N] [--messages N] [--pause-us N] [--sizes 64,8192,1048576]
//               [--receivers 1,4,12] [--only TEXT] [--spin] [--load N] [--pin] [--throughput]
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "msgq/queue/spin.h"
#include "runtime/base/clock.h"
#include "runtime/realtime/deadline.h"
#include "tests/perf/queue/channel.h"

namespace camshaft::perf {
namespace {

struct Arguments {
  int rounds = 5;
  uint64_t messages = 300;
  int64_t pause_us = 1000;
  std::vector<uint64_t> sizes = {64, 8192, 1 << 20};
  std::vector<uint64_t> receivers = {1, 4, 12};
  std::string only;
  bool spin = false;
  bool pin = false;
  bool throughput = false;
  int load = 0;
};

std::vector<uint64_t> numbers(const char* text) {
  std::vector<uint64_t> all;
  for (char* end = nullptr; *text != '\0'; text = *end == ',' ? end + 1 : end) {
    all.push_back(std::strtoull(text, &end, 10));
    require(end != text, "a list of numbers");
  }
  return all;
}

Arguments parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&] {
      require(i + 1 < argc, name.c_str());
      return argv[++i];
    };
    if (name == "--rounds")
      a.rounds = std::atoi(value());
    else if (name == "--messages")
      a.messages = std::strtoull(value(), nullptr, 10);
    else if (name == "--pause-us")
      a.pause_us = std::atoll(value());
    else if (name == "--sizes")
      a.sizes = numbers(value());
    else if (name == "--receivers")
      a.receivers = numbers(value());
    else if (name == "--only")
      a.only = value();
    else if (name == "--load")
      a.load = std::atoi(value());
    else if (name == "--spin")
      a.spin = true;
    else if (name == "--pin")
      a.pin = true;
    else if (name == "--throughput")
      a.throughput = true;
    else
      require(false, ("argument " + name).c_str());
  }
  return a;
}

void pin_to(uint32_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

// The sender has a CPU of its own; receivers share the others.
uint32_t receiver_cpu(uint32_t index) {
  const uint32_t cpus = std::thread::hardware_concurrency();
  return cpus < 2 ? 0 : 1 + index % (cpus - 1);
}

struct Case {
  const ChannelKind* kind;
  Setup setup;
  std::vector<int64_t> latencies;
  uint64_t missing = 0;
};

// What a receiver leaves for the process that started it.
struct Results {
  std::atomic<uint64_t> counts[64];
  std::atomic<uint32_t> ready;
  int64_t latencies[1];
};

void receive_all(Channel& channel, const Arguments& a, Results* results, uint32_t index) {
  if (a.pin) pin_to(receiver_cpu(index));
  channel.begin_receiving(index);
  results->ready.fetch_add(1);
  int64_t* latencies = results->latencies + index * a.messages;
  uint64_t count = 0;
  for (;;) {
    Stamp stamp;
    if (!channel.receive(base::mono_time_ns() + 2'000'000'000, &stamp)) break;
    const int64_t now_ns = base::mono_time_ns();
    if (stamp.sent_ns == 0) break;
    if (stamp.number == 0 || count == a.messages) continue;
    latencies[count++] = now_ns - stamp.sent_ns;
  }
  results->counts[index].store(count);
}

void pause_between(const Arguments& a) {
  if (a.spin) {  // a sender that sleeps would have its caches and clock speed elsewhere
    const int64_t end_ns = base::mono_time_ns() + a.pause_us * 1000;
    while (base::mono_time_ns() < end_ns) queue::cpu_pause();
  } else {
    realtime::sleep_until(base::mono_time_ns() + a.pause_us * 1000);
  }
}

void send_one(Channel& channel, uint64_t number, bool is_last) {
  std::byte* space = channel.space();
  const Stamp stamp = {is_last ? 0 : base::mono_time_ns(), number};
  std::memcpy(space, &stamp, sizeof stamp);
  channel.send();
}

void send_all(Channel& channel, const Arguments& a, Results* results, uint32_t receivers) {
  if (a.pin) pin_to(0);
  channel.begin_sending();
  while (results->ready.load() < receivers) realtime::sleep_until(base::mono_time_ns() + 1'000'000);
  realtime::sleep_until(base::mono_time_ns() + 30'000'000);
  for (uint64_t i = 0; i < 10; ++i) {  // number 0: not counted
    send_one(channel, 0, false);
    pause_between(a);
  }
  for (uint64_t i = 1; i <= a.messages; ++i) {
    send_one(channel, i, false);
    pause_between(a);
  }
  send_one(channel, a.messages + 1, true);
  realtime::sleep_until(base::mono_time_ns() + 10'000'000);
}

void run_processes(Channel& channel, const Arguments& a, Results* results, uint32_t receivers) {
  std::vector<pid_t> children;
  for (uint32_t i = 0; i <= receivers; ++i) {
    children.push_back(::fork());
    require(children.back() >= 0, "fork");
    if (children.back() != 0) continue;
    if (i < receivers) {
      receive_all(channel, a, results, i);
    } else {
      send_all(channel, a, results, receivers);
    }
    ::_exit(0);
  }
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
}

void run_threads(Channel& channel, const Arguments& a, Results* results, uint32_t receivers) {
  channel.begin_sending();
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < receivers; ++i) {
    threads.emplace_back([&, i] { receive_all(channel, a, results, i); });
  }
  std::thread([&] {
    struct Started : Channel {  // begin_sending() has been called
      explicit Started(Channel& of) : channel(of) {}
      std::byte* space() override { return channel.space(); }
      void send() override { channel.send(); }
      void begin_receiving(uint32_t) override {}
      bool receive(int64_t, Stamp*) override { return false; }
      Channel& channel;
    } started(channel);
    send_all(started, a, results, receivers);
  }).join();
  for (std::thread& thread : threads) thread.join();
}

void run_case(Case& c, const Arguments& a) {
  const uint32_t receivers = c.setup.receivers;
  const size_t bytes = sizeof(Results) + sizeof(int64_t) * receivers * a.messages;
  auto* results = static_cast<Results*>(shared_memory(bytes));
  const std::unique_ptr<Channel> channel = c.kind->make(c.setup);
  (c.kind->uses_threads ? run_threads : run_processes)(*channel, a, results, receivers);
  for (uint32_t i = 0; i < receivers; ++i) {
    const uint64_t count = results->counts[i].load();
    const int64_t* first = results->latencies + i * a.messages;
    c.latencies.insert(c.latencies.end(), first, first + count);
    c.missing += a.messages - count;
  }
  ::munmap(results, bytes);
}

double percentile_us(std::vector<int64_t>& sorted, double share) {
  if (sorted.empty()) return -1;
  const auto at = static_cast<size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5);
  return static_cast<double>(sorted[at]) / 1000;
}

void print(std::vector<Case>& cases) {
  std::printf("%9s %4s  %-20s %9s %9s %9s %9s %8s %8s\n", "bytes", "recv", "", "p50 us", "p99",
              "p99.9", "missing", "p50/bare", "p99/bare");
  double bare50 = 0;
  double bare99 = 0;
  for (Case& c : cases) {
    std::sort(c.latencies.begin(), c.latencies.end());
    const double p50 = percentile_us(c.latencies, 0.5);
    const double p99 = percentile_us(c.latencies, 0.99);
    if (c.kind->make == make_futex) {
      bare50 = p50;
      bare99 = p99;
    }
    std::printf("%9llu %4u  %-20s %9.2f %9.2f %9.2f %9llu %8.2f %8.2f\n",
                static_cast<unsigned long long>(c.setup.size_bytes), c.setup.receivers,
                c.kind->name.c_str(), p50, p99, percentile_us(c.latencies, 0.999),
                static_cast<unsigned long long>(c.missing), p50 / bare50, p99 / bare99);
  }
}

std::vector<pid_t> start_load(int processes) {
  std::vector<pid_t> all;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (volatile uint64_t n = 0;; n = n + 1) {
      }
    }
    all.push_back(child);
  }
  return all;
}

// Messages a second that one process builds in place and reads in place, without writing them.
void print_throughput(const Arguments& a) {
  std::printf("%9s %20s\n", "bytes", "borrowed messages/s");
  for (const uint64_t size : a.sizes) {
    double best = 0;
    for (int round = 0; round < a.rounds; ++round) {
      const auto channel = make_queue_borrow({.receivers = 1, .size_bytes = size});
      channel->begin_receiving(0);
      constexpr int kCount = 20'000;
      const int64_t start_ns = base::mono_time_ns();
      for (int i = 1; i <= kCount; ++i) {
        send_one(*channel, static_cast<uint64_t>(i), false);
        Stamp stamp;
        require(channel->receive(start_ns + 10'000'000'000, &stamp), "receive");
      }
      best = std::max(best, kCount * 1e9 / static_cast<double>(base::mono_time_ns() - start_ns));
    }
    std::printf("%9llu %20.0f\n", static_cast<unsigned long long>(size), best);
  }
}

void measure(const Arguments& a) {
  std::vector<Case> cases;
  for (const uint64_t size : a.sizes) {
    for (const uint64_t receivers : a.receivers) {
      for (const ChannelKind& kind : channel_kinds()) {
        const bool selected = a.only.empty() || kind.name.find(a.only) != std::string::npos ||
                              kind.make == make_futex;
        const bool fits = kind.max_bytes == nullptr || size <= kind.max_bytes();
        if (!selected || !fits || (a.spin && !kind.can_spin)) continue;
        cases.push_back({&kind, {static_cast<uint32_t>(receivers), size, a.spin}, {}, 0});
      }
    }
  }
  const std::vector<pid_t> load = start_load(a.load);
  for (int round = 0; round < a.rounds; ++round) {
    for (Case& c : cases) run_case(c, a);
  }
  for (const pid_t process : load) ::kill(process, SIGKILL);
  std::printf("%s, %d busy processes, %d rounds of %llu messages, one every %lld us\n",
              a.spin ? "spinning" : "sleeping", a.load, a.rounds,
              static_cast<unsigned long long>(a.messages), static_cast<long long>(a.pause_us));
  print(cases);
}

}  // namespace
}  // namespace camshaft::perf

int main(int argc, char** argv) {
  const auto arguments = camshaft::perf::parse(argc, argv);
  if (arguments.throughput) {
    camshaft::perf::print_throughput(arguments);
  } else {
    camshaft::perf::measure(arguments);
  }
  return 0;
}
