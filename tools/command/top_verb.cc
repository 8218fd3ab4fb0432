// SPDX-License-Identifier: MIT
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "runtime/base/clock.h"
#include "tools/command/interrupt.h"
#include "tools/command/number_checks.h"
#include "tools/command/text.h"
#include "tools/command/topic_hint.h"
#include "tools/command/topic_rates.h"
#include "tools/command/verb.h"

namespace camshaft::command {
namespace {

using base::Result;
using base::Status;

struct TopOptions {
  std::vector<std::string> topics;  // empty: all
  std::string prefix;
  double interval_s = 1;
  int count = 0;  // tables; 0: until interrupted
};

using Looks = std::map<std::string, TopicLook>;
using Names = std::set<std::string>;

// Topics that go away between listing and looking are left out, unless they were asked for. So are
// those that can't be looked at, with a note the first time.
Result<Looks> look_at_all(const TopOptions& options, Console& console, Names& left_out) {
  const queue::DomainOptions domain = {.prefix = options.prefix};
  std::vector<std::string> names = options.topics;
  if (names.empty()) {
    CAMSHAFT_TRY_ASSIGN(names, queue::list_topics(domain));
  }
  Looks looks;
  for (const std::string& name : names) {
    auto info = queue::inspect_topic(name, domain);
    if (!info && options.topics.empty()) {
      const base::Code code = info.error().code();
      if (code != base::Code::kNotFound && left_out.insert(name).second) {
        console.note("'" + name + "' is left out: " + base::code_name(code) +
                     "; name it to see why");
      }
      continue;
    }
    if (!info && info.error().code() == base::Code::kNotFound) {
      const std::string hint = topic_hint(name, options.prefix);
      console.forget_sentences();
      return base::fail(base::Code::kNotFound, "top.topic",
                        "there is no topic '%s'%s: nothing has published it yet, or it has another "
                        "--prefix",
                        name.c_str(), hint.c_str());
    }
    if (!info) return info.error();
    looks[name] = {std::move(*info), base::mono_time_ns()};
  }
  return looks;
}

// In slices, for Ctrl-C.
void sleep_s(double seconds) {
  const int64_t end_ns = base::mono_time_ns() + static_cast<int64_t>(seconds * 1e9);
  while (!is_interrupted()) {
    const int64_t left_ns = std::min<int64_t>(end_ns - base::mono_time_ns(), 50'000'000);
    if (left_ns <= 0) return;
    const timespec time = {0, static_cast<long>(left_ns)};
    ::nanosleep(&time, nullptr);
  }
}

std::vector<TopicRates> rates_of(const Looks& before, const Looks& now) {
  std::vector<TopicRates> rates;
  for (const auto& [name, look] : now) {
    const auto earlier = before.find(name);
    rates.push_back(rates_between(earlier == before.end() ? look : earlier->second, look));
  }
  return rates;
}

Status top(const TopOptions& options, Console& console, Json& body) {
  const bool is_screen = !console.json() && ::isatty(STDOUT_FILENO) != 0;
  const int count = options.count > 0 ? options.count : is_screen ? 0 : 1;
  catch_interrupts();
  Names left_out;
  CAMSHAFT_TRY_ASSIGN(Looks before, look_at_all(options, console, left_out));
  std::vector<TopicRates> rates;
  for (int i = 0; (count == 0 || i < count) && !is_interrupted(); ++i) {
    sleep_s(options.interval_s);
    console.forget_sentences();  // about topics that went away
    CAMSHAFT_TRY_ASSIGN(Looks now, look_at_all(options, console, left_out));
    rates = rates_of(before, now);
    const std::string page =
        now.empty() ? "no topics: nothing has published yet, or it has another --prefix\n"
                    : rates_text(rates);
    console.print((is_screen ? "\x1b[H\x1b[J" : i > 0 ? "\n" : "") + page);
    std::fflush(stdout);
    before = std::move(now);
  }
  console.forget_sentences();
  body["topics"] = rates_json(rates);
  return base::ok();
}

}  // namespace

Action declare_top(CLI::App& app) {
  auto options = std::make_shared<TopOptions>();
  app.add_option("topics", options->topics, "Topics to show [all]")->type_name("TOPIC...");
  app.add_option("--prefix", options->prefix,
                 "Topics of the processes that run with this CAMSHAFT_PREFIX")
      ->type_name("PREFIX");
  app.add_option("--interval", options->interval_s, "Seconds over which rates are measured")
      ->type_name("S")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  app.add_option("--count", options->count,
                 "Tables to print, then end; by default one, on a terminal until Ctrl-C")
      ->type_name("N")
      ->check(above_zero());
  app.footer(
      "Looking takes no reader's place and wakes nobody. \"age\" is that of the newest message,\n"
      "\"latency\" how far the slowest reader is behind it, \"dropped\" what readers lost because "
      "they came\ntoo late. A rate below 80 % of the service's is marked !.");
  return [options](Console& console) {
    Json body = Json::object();
    const Status status = top(*options, console, body);
    return status.is_ok() ? console.finish(std::move(body)) : console.fail(status);
  };
}

}  // namespace camshaft::command
