// SPDX-License-Identifier: MIT
// Carries topics between this machine's shared memory and another's, over ZeroMQ: see
// docs/interop.md.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "msgq/bridge/bridge.h"
#include "msgq/schema/codec.h"
#include "msgq/schema/services.h"
#include "msgq/transport/shared_memory.h"
#include "runtime/base/clock.h"
#include "runtime/base/log_ring.h"
#include "runtime/base/nearest.h"
#include "tools/bridge/key_file.h"

namespace camshaft::bridge {
namespace {

using base::Status;

constexpr int64_t kSliceNs = 100'000'000;

struct Options {
  std::string make_keys;
  std::string keys;
  std::string allow;
  std::string prefix;
  std::vector<std::string> exports, imports;
  std::string export_at, export_to, import_at, import_from;
  std::string server_key;
  int high_water = BridgeOptions().high_water;
  double report_s = 0;
};

std::atomic<bool> stop = false;

std::vector<Route> routes_of(const std::vector<std::string>& topics) {
  std::vector<Route> routes;
  for (const std::string& topic : topics) {
    Route route = {.topic = topic};
    if (const schema::Service* service = schema::find_service(topic)) {
      route.schema_hash = schema::schema_id(schema::body_index(service->schema));
      route.queue_bytes = service->queue_bytes;
    }
    routes.push_back(route);
  }
  return routes;
}

BridgeOptions bridge_options(const Options& options, const std::vector<std::string>& topics,
                             const std::string& at, const std::string& to) {
  BridgeOptions made;
  made.link = {at.empty() ? to : at, !at.empty(), at.empty() ? options.server_key : ""};
  made.routes = routes_of(topics);
  made.high_water = options.high_water;
  return made;
}

Status make_key_file(const std::string& path) {
  CAMSHAFT_TRY_ASSIGN(const KeyPair keys, make_key_pair());
  CAMSHAFT_TRY(write_keys(path, keys));
  std::printf("%s\n", keys.public_key.c_str());
  return base::ok();
}

bool is_port(const std::string& text) {
  unsigned port = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, port);
  return error == std::errc() && rest == end && port >= 1 && port <= 65535;
}

Status check_address(const char* option, const std::string& address) {
  constexpr std::string_view kScheme = "tcp://";
  if (address.empty()) return base::ok();
  if (address.starts_with(kScheme)) {
    const size_t colon = address.rfind(':');
    if (colon < kScheme.size() || is_port(address.substr(colon + 1))) return base::ok();
    return base::fail(base::Code::kInvalidArgument, "bridge.usage",
                      "%s %s: the port is a number from 1 to 65535", option, address.c_str());
  }
  return base::fail(base::Code::kInvalidArgument, "bridge.usage",
                    "%s %s: write tcp://ADDRESS:PORT, or tcp://*:PORT to wait at all addresses",
                    option, address.c_str());
}

// What is allowed and yet seldom meant.
void note_oddities(const Options& options, const std::vector<std::string>& allowed) {
  if (allowed.empty() && !(options.export_at.empty() && options.import_at.empty())) {
    std::fprintf(stderr,
                 "bridge: note: nobody may connect here: --allow FILE names those who may\n");
  }
  for (const std::vector<std::string>* topics : {&options.exports, &options.imports}) {
    for (const std::string& topic : *topics) {
      if (schema::find_service(topic) != nullptr) continue;
      std::fprintf(stderr,
                   "bridge: note: '%s' is no service of services.toml%s: what its messages mean is "
                   "not checked\n",
                   topic.c_str(),
                   base::did_you_mean(topic, schema::services(), &schema::Service::name).c_str());
    }
  }
}

Status check_usage(const Options& options) {
  const auto one_end = [](const std::vector<std::string>& topics, const std::string& at,
                          const std::string& to) {
    return topics.empty() ? at.empty() && to.empty() : at.empty() != to.empty();
  };
  const char* problem = nullptr;
  if (options.keys.empty()) problem = "name this machine's keys: --keys FILE";
  if (options.exports.empty() && options.imports.empty())
    problem = "name topics: --export, --import";
  if (!one_end(options.exports, options.export_at, options.export_to)) {
    problem = "--export needs either --export-at or --export-to, and they need it";
  }
  if (!one_end(options.imports, options.import_at, options.import_from)) {
    problem = "--import needs either --import-at or --import-from, and they need it";
  }
  for (const std::string& topic : options.exports) {
    for (const std::string& other : options.imports) {
      if (topic == other)
        problem = "a topic can't be exported and imported: it would go in circles";
    }
  }
  if (problem != nullptr) {
    return base::fail(base::Code::kInvalidArgument, "bridge.usage", "%s; see --help", problem);
  }
  CAMSHAFT_TRY(check_address("--export-at", options.export_at));
  CAMSHAFT_TRY(check_address("--export-to", options.export_to));
  CAMSHAFT_TRY(check_address("--import-at", options.import_at));
  return check_address("--import-from", options.import_from);
}

template <typename Half>
void report(const char* what, const std::vector<std::string>& topics, const Half& half) {
  for (size_t i = 0; i < topics.size(); ++i) {
    const RouteCounters& c = half.counters(i);
    std::printf("%s %s: %" PRIu64 " messages, %" PRIu64 " bytes, %" PRIu64 " missed, %" PRIu64
                " times full, %" PRIu64 " lost, %" PRIu64 " rejected, %" PRIu64 " subscribers\n",
                what, topics[i].c_str(), c.messages.load(), c.bytes.load(), c.missed.load(),
                c.times_full.load(), c.lost.load(), c.rejected.load(), c.subscribers.load());
  }
}

// Runs `slice(deadline)` again and again, on a thread of its own.
std::thread looping(std::function<void(int64_t)> slice) {
  return std::thread([slice = std::move(slice)] {
    while (!stop) slice(base::mono_time_ns() + kSliceNs);
  });
}

Status run(const Options& options) {
  CAMSHAFT_TRY(check_usage(options));
  CAMSHAFT_TRY_ASSIGN(const KeyPair keys, read_keys(options.keys));
  std::vector<std::string> allowed;
  if (!options.allow.empty()) {
    CAMSHAFT_TRY_ASSIGN(allowed, read_allowed(options.allow));
  }
  transport::SharedMemory transport({.prefix = options.prefix});
  CAMSHAFT_TRY_ASSIGN(const std::unique_ptr<Gate> gate, Gate::open(keys, allowed));
  std::unique_ptr<Exporter> exporter;
  std::unique_ptr<Importer> importer;
  if (!options.exports.empty()) {
    const BridgeOptions exporting =
        bridge_options(options, options.exports, options.export_at, options.export_to);
    CAMSHAFT_TRY_ASSIGN(exporter, Exporter::open(transport, *gate, exporting));
  }
  if (!options.imports.empty()) {
    const BridgeOptions importing =
        bridge_options(options, options.imports, options.import_at, options.import_from);
    CAMSHAFT_TRY_ASSIGN(importer, Importer::open(transport, *gate, importing));
  }
  note_oddities(options, allowed);
  std::vector<std::thread> threads;
  threads.push_back(looping([&](int64_t until) { gate->run_until(until); }));
  if (exporter) threads.push_back(looping([&](int64_t until) { exporter->run_until(until); }));
  if (importer) threads.push_back(looping([&](int64_t until) { importer->run_until(until); }));
  std::printf("ready\n");
  std::fflush(stdout);
  int64_t next_ns = base::mono_time_ns();
  while (!stop) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(kSliceNs));
    const bool is_last = stop;
    if (!is_last && (options.report_s <= 0 || base::mono_time_ns() < next_ns)) continue;
    next_ns = base::mono_time_ns() + static_cast<int64_t>(options.report_s * 1e9);
    if (exporter) report("export", options.exports, *exporter);
    if (importer) report("import", options.imports, *importer);
    std::printf("peers: %" PRIu64 " let in, %" PRIu64 " refused\n", gate->accepted(),
                gate->refused());
    std::fflush(stdout);
  }
  for (std::thread& thread : threads) thread.join();
  return base::ok();
}

void declare(CLI::App& app, Options& options) {
  app.add_option("--make-keys", options.make_keys,
                 "Make a pair of keys, write it to FILE and print the public one");
  app.add_option("--keys", options.keys, "This machine's keys, from --make-keys");
  app.add_option("--allow", options.allow,
                 "Public keys of those who may connect here, one a line; nobody without it");
  app.add_option("--export", options.exports, "Topics to send")->delimiter(',');
  app.add_option("--export-at", options.export_at, "Wait for peers there: tcp://*:9100");
  app.add_option("--export-to", options.export_to, "Connect there: tcp://10.0.0.2:9100");
  app.add_option("--import", options.imports, "Topics to take")->delimiter(',');
  app.add_option("--import-at", options.import_at, "Wait for peers there");
  app.add_option("--import-from", options.import_from, "Connect there");
  app.add_option("--server-key", options.server_key, "Public key of the machine to connect to");
  app.add_option("--prefix", options.prefix, "Topics of this CAMSHAFT_PREFIX");
  app.add_option("--high-water", options.high_water, "Messages that wait for a slow peer")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--report", options.report_s, "Print counters every so many seconds");
}

int main_with(int count, char** arguments) {
  CLI::App app("Carries topics between machines, encrypted, for peers whose keys are known.");
  Options options;
  declare(app, options);
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  for (const int signal : {SIGINT, SIGTERM}) ::signal(signal, [](int) { stop = true; });
  const Status status = options.make_keys.empty() ? run(options) : make_key_file(options.make_keys);
  if (status.is_ok()) return 0;
  const std::vector<base::LogLine> lines = base::log_lines_after(0);
  std::fprintf(stderr, "bridge: error: %s\n",
               lines.empty() ? base::code_name(status.code()) : lines.back().text.c_str());
  return base::exit_code(status.code());
}

}  // namespace
}  // namespace camshaft::bridge

int main(int count, char** arguments) {
  return camshaft::bridge::main_with(count, arguments);
}
