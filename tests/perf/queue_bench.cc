// SPDX-License-Identifier: MIT
// How long a message takes from its sender to its receivers, one way, in one interleaved run: ours
// beside the least that a futex can do and beside what people use otherwise. Latency is from the
// moment when a message is put together to the moment when a receiver has it; in place where the
// channel can, copied where it must be.
//
//   build/bench/queue [--quick] [--markdown] [--rounds N] [--messages N] [--pause-us N]
//       [--sizes 64,8192,1048576] [--receivers 1,4,12] [--only TEXT] [--load BUSY_PROCESSES]
//       [--conditions idle,loaded,spin,loaded-spin] [--pin] [--iceoryx2 PYTHON|none]
//   build/bench/queue --throughput [--rounds N] [--sizes ...]
//
// All of it takes 10 to 20 minutes and says on standard error how far it is; --quick, a look at
// whether it works, one or two. --markdown prints the README's table and all the others. Receivers
// that spin have CPUs of their own where there are enough; --pin does the same for those that
// sleep.
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "msgq/queue/spin.h"
#include "runtime/base/clock.h"
#include "runtime/realtime/deadline.h"
#include "tests/perf/queue/channel.h"
#include "tests/perf/queue/iceoryx2.h"
#include "tests/perf/queue/series.h"

namespace camshaft::perf {
namespace {

constexpr uint64_t kMaxReceivers = 16;  // as many slots as a topic has

struct Condition {
  const char* name;
  bool spin;
  bool is_loaded;
};
constexpr Condition kConditions[] = {{"idle", false, false},
                                     {"loaded", false, true},
                                     {"spin", true, false},
                                     {"loaded-spin", true, true}};

struct Arguments {
  int rounds = 5;
  uint64_t messages = 300;
  int64_t pause_us = 1000;
  std::vector<uint64_t> sizes = {64, 8192, 1 << 20};
  std::vector<uint64_t> receivers = {1, 4, 12};
  std::string conditions = "idle,loaded,spin,loaded-spin";
  std::string only;
  std::string python = "build/peers/bin/python";  // that has iceoryx2
  bool pin = false;
  bool markdown = false;
  bool throughput = false;
  int load = 0;  // 0: twice as many as there are CPUs

  bool wants(const Condition& condition) const {
    return ("," + conditions + ",").find(std::string(",") + condition.name + ",") !=
           std::string::npos;
  }
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
    if (name == "--quick") {
      a.rounds = 1;
      a.messages = 50;
      a.receivers = {1, 4};
    } else if (name == "--rounds")
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
    else if (name == "--conditions")
      a.conditions = value();
    else if (name == "--iceoryx2")
      a.python = value();
    else if (name == "--markdown")
      a.markdown = true;
    else if (name == "--pin")
      a.pin = true;
    else if (name == "--throughput")
      a.throughput = true;
    else
      require(false, ("argument " + name).c_str());
  }
  if (a.load == 0) a.load = 2 * static_cast<int>(std::thread::hardware_concurrency());
  for (const uint64_t receivers : a.receivers) {
    require(receivers >= 1 && receivers <= kMaxReceivers, "1 to 16 receivers");
  }
  require(a.rounds > 0 && a.messages > 0, "rounds and messages");
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

// How one channel is run once.
struct Run {
  uint64_t messages;
  int64_t pause_us;
  bool spin;
  bool pin;
};

// What a receiver leaves for the process that started it.
struct Results {
  std::atomic<uint64_t> counts[kMaxReceivers];
  std::atomic<uint32_t> ready;
  int64_t latencies[1];
};

void receive_all(Channel& channel, const Run& a, Results* results, uint32_t index) {
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

void pause_between(const Run& a) {
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

void send_all(Channel& channel, const Run& a, Results* results, uint32_t receivers) {
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

void run_processes(Channel& channel, const Run& a, Results* results, uint32_t receivers) {
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

void run_threads(Channel& channel, const Run& a, Results* results, uint32_t receivers) {
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

// A channel of channel_kinds(), or iceoryx2 where there is no kind.
struct Case {
  const ChannelKind* kind;
  Series series;
};

void run_kind(Case& c, const Run& run) {
  Series& series = c.series;
  const uint32_t receivers = series.setup.receivers;
  const size_t bytes = sizeof(Results) + sizeof(int64_t) * receivers * run.messages;
  auto* results = static_cast<Results*>(shared_memory(bytes));
  const std::unique_ptr<Channel> channel = c.kind->make(series.setup);
  (c.kind->uses_threads ? run_threads : run_processes)(*channel, run, results, receivers);
  for (uint32_t i = 0; i < receivers; ++i) {
    const uint64_t count = results->counts[i].load();
    const int64_t* first = results->latencies + i * run.messages;
    series.latencies_ns.insert(series.latencies_ns.end(), first, first + count);
    series.missing += run.messages - count;
  }
  ::munmap(results, bytes);
}

void run_case(Case& c, const Arguments& a) {
  Series& series = c.series;
  if (c.kind != nullptr) {
    return run_kind(c, {a.messages, a.pause_us, series.setup.spin, a.pin || series.setup.spin});
  }
  const std::vector<int64_t> ns = Iceoryx2(a.python).run(series.setup, a.messages, a.pause_us);
  series.latencies_ns.insert(series.latencies_ns.end(), ns.begin(), ns.end());
  series.missing += series.setup.receivers * a.messages - ns.size();
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
      channel->begin_sending();
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

bool has_iceoryx2(const Arguments& a) {
  if (a.python == "none" || std::string("iceoryx2").find(a.only) == std::string::npos) return false;
  const std::string problem = Iceoryx2(a.python).problem();
  if (!problem.empty()) std::fprintf(stderr, "without iceoryx2: %s\n", problem.c_str());
  return problem.empty();
}

// What is measured under one set of conditions, in turn.
std::vector<Case> cases_of(const Condition& condition, const Arguments& a, bool with_iceoryx2) {
  std::vector<Case> cases;
  for (const uint64_t size : a.sizes) {
    for (const uint64_t receivers : a.receivers) {
      const Setup setup = {static_cast<uint32_t>(receivers), size, condition.spin};
      for (const ChannelKind& kind : channel_kinds()) {
        const bool is_bare = kind.make == make_futex;
        const bool selected = is_bare || kind.name.find(a.only) != std::string::npos;
        const bool fits = kind.max_bytes == nullptr || size <= kind.max_bytes();
        if (!selected || !fits || (condition.spin && !kind.can_spin)) continue;
        cases.push_back({&kind, {kind.name, is_bare, setup, condition.is_loaded}});
      }
      if (with_iceoryx2 && !condition.spin) {
        cases.push_back({nullptr, {"iceoryx2, from Python", false, setup, condition.is_loaded}});
      }
    }
  }
  return cases;
}

// A line now and then, on a terminal the same one again and again.
class Progress {
 public:
  Progress(int rounds, size_t cases)
      : rounds_(rounds), total_(static_cast<size_t>(rounds) * cases) {}

  void note(int round, const Series& series) {
    const int64_t now_ns = base::mono_time_ns();
    ++done_;
    if (now_ns < next_ns_ && done_ < total_) return;
    next_ns_ = now_ns + (is_terminal_ ? 200'000'000 : 15'000'000'000);
    const double spent_s = static_cast<double>(now_ns - start_ns_) * 1e-9;
    const double left_s =
        spent_s / static_cast<double>(done_) * static_cast<double>(total_ - done_);
    std::fprintf(stderr,
                 "%sround %d of %d, %zu of %zu measured, about %.0f s left; %s, %llu B, %u%s",
                 is_terminal_ ? "\r\x1b[K" : "", round, rounds_, done_, total_, left_s,
                 series.channel.c_str(), static_cast<unsigned long long>(series.setup.size_bytes),
                 series.setup.receivers, is_terminal_ && done_ < total_ ? "" : "\n");
  }

 private:
  int rounds_;
  size_t total_;
  size_t done_ = 0;
  bool is_terminal_ = ::isatty(STDERR_FILENO) != 0;
  int64_t start_ns_ = base::mono_time_ns();
  int64_t next_ns_ = 0;
};

void measure(const Arguments& a) {
  const bool with_iceoryx2 = has_iceoryx2(a);
  std::vector<std::pair<Condition, std::vector<Case>>> groups;
  size_t count = 0;
  for (const Condition& condition : kConditions) {
    if (!a.wants(condition)) continue;
    groups.emplace_back(condition, cases_of(condition, a, with_iceoryx2));
    count += groups.back().second.size();
  }
  require(count > 0, "--conditions: idle, loaded, spin, loaded-spin");
  Progress progress(a.rounds, count);
  for (int round = 1; round <= a.rounds; ++round) {
    for (auto& [condition, cases] : groups) {
      const std::vector<pid_t> load = start_load(condition.is_loaded ? a.load : 0);
      for (Case& c : cases) {
        run_case(c, a);
        progress.note(round, c.series);
      }
      for (const pid_t process : load) {
        ::kill(process, SIGKILL);
        ::waitpid(process, nullptr, 0);
      }
    }
  }
  std::vector<Series> all;
  for (auto& [condition, cases] : groups) {
    for (Case& c : cases) all.push_back(std::move(c.series));
  }
  std::printf("%d rounds of %llu messages, one every %lld us; loaded: %d busy processes\n\n",
              a.rounds, static_cast<unsigned long long>(a.messages),
              static_cast<long long>(a.pause_us), a.load);
  (a.markdown ? print_markdown : print_text)(all);
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
