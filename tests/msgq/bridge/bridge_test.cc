// SPDX-License-Identifier: MIT
// Topics between two machines, here two domains of one, and those who must not take part.
#include "msgq/bridge/bridge.h"

#include <zmq.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "msgq/transport/in_process.h"
#include "msgq/transport/shared_memory.h"
#include "runtime/base/clock.h"
#include "tests/support/last_sentence.h"
#include "tests/support/queue_domain.h"

namespace camshaft::bridge {
namespace {

using base::Code;

constexpr int64_t kMs = 1'000'000;
constexpr uint64_t kSchema = 42;

int64_t in_ms(int64_t ms) {
  return base::mono_time_ns() + ms * kMs;
}

// Whether it becomes so. What is counted is counted a moment after it is done.
template <typename Condition>
bool await(const Condition& is_so) {
  for (const int64_t end = in_ms(60'000); !is_so() && base::mono_time_ns() < end;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return is_so();
}

KeyPair new_keys() {
  auto keys = make_key_pair();
  REQUIRE(keys.has_value());
  return *keys;
}

std::unique_ptr<Gate> gate_of(const KeyPair& own, const std::vector<std::string>& allowed) {
  auto gate = Gate::open(own, allowed);
  REQUIRE(gate.has_value());
  return std::move(*gate);
}

// Ports that nothing waits at, in turn, at an address of this machine that is the process's own.
std::string new_endpoint() {
  static std::atomic<int> port = 20000;
  const int pid = ::getpid();
  return "tcp://127." + std::to_string(1 + (pid >> 16) % 250) + "." +
         std::to_string(pid >> 8 & 255) + "." + std::to_string(pid & 255) + ":" +
         std::to_string(++port);
}

BridgeOptions options_for(const std::string& endpoint, bool waits, const std::string& server_key,
                          const std::string& topic = "topic", uint64_t schema = kSchema) {
  BridgeOptions options;
  options.link = {endpoint, waits, waits ? "" : server_key};
  options.routes = {{topic, schema, 1 << 16}};
  return options;
}

// Runs something again and again on a thread, until the object goes.
class Runner {
 public:
  template <typename Run>
  explicit Runner(Run run)
      : thread_([this, run] {
          while (!stop_) run(in_ms(20));
        }) {}
  ~Runner() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

// A vehicle that exports and a desk that imports, each with its own keys and topics.
struct TwoMachines {
  transport::InProcess vehicle;
  transport::InProcess desk;
  KeyPair vehicle_keys = new_keys();
  KeyPair desk_keys = new_keys();
  std::unique_ptr<Gate> vehicle_gate = gate_of(vehicle_keys, {desk_keys.public_key});
  std::unique_ptr<Gate> desk_gate = gate_of(desk_keys, {vehicle_keys.public_key});
  std::unique_ptr<transport::Sender> out;
  std::unique_ptr<transport::Receiver> in;

  TwoMachines() {
    out = std::move(*vehicle.open_sender("topic", {.schema_hash = kSchema}));
    in = std::move(*desk.open_receiver("topic", {}));
  }

  void send(std::string_view text) { REQUIRE(out->send(base::as_bytes(text)).is_ok()); }
  std::string receive() {
    const auto received = in->receive();
    REQUIRE(received.has_value());
    return *received ? std::string(base::as_text(received->bytes)) : "";
  }
  // Sends until something arrives; true where it did.
  bool arrives(int64_t within_ms) {
    for (const int64_t end = in_ms(within_ms); base::mono_time_ns() < end;) {
      send("hello");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      if (receive() == "hello") return true;
    }
    return false;
  }
};

// A plain ZeroMQ socket, as a stranger may have.
struct Stranger {
  void* context = ::zmq_ctx_new();
  void* socket = nullptr;

  Stranger(int type, const std::string& endpoint, const KeyPair* keys,
           const std::string& server_key, int high_water = 1000) {
    socket = ::zmq_socket(context, type);
    const int none = 0;
    ::zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
    ::zmq_setsockopt(socket, ZMQ_RCVHWM, &high_water, sizeof high_water);
    if (type == ZMQ_SUB) ::zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0);
    if (keys != nullptr) {
      ::zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server_key.data(), server_key.size());
      ::zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, keys->public_key.data(), 40);
      ::zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, keys->secret_key.data(), 40);
    }
    REQUIRE(::zmq_connect(socket, endpoint.c_str()) == 0);
  }
  ~Stranger() {
    ::zmq_close(socket);
    ::zmq_ctx_term(context);
  }

  int receive() {
    char bytes[1000];
    return ::zmq_recv(socket, bytes, sizeof bytes, ZMQ_DONTWAIT);
  }
  void inject(std::string_view topic, std::string_view text, uint64_t sequence = 1) {
    const WireMessage message = {
        .topic = topic,
        .header = {.sender = 7, .sequence = sequence, .schema_hash = kSchema},
        .payload = base::as_bytes(text)};
    std::vector<std::byte> bytes(wire_size(topic, text.size()));
    write_wire(message, bytes.data());
    (void)::zmq_send(socket, bytes.data(), bytes.size(), ZMQ_DONTWAIT);
  }
};

// Who is who in the tests of strangers.
struct Trial {
  const char* who;
  bool has_keys;
  bool knows_server;  // the right public key of the other side
  bool is_allowed;
};
constexpr Trial kTrials[] = {{"without a key", false, false, false},
                             {"with a wrong server key", true, false, true},
                             {"not on the allow-list", true, true, false},
                             {"who may", true, true, true}};  // the positive control

}  // namespace

TEST_CASE("topics cross, whichever end waits at the port") {
  const bool exporter_waits = GENERATE(true, false);
  TwoMachines m;
  const std::string endpoint = new_endpoint();
  auto exporter = Exporter::open(m.vehicle, *m.vehicle_gate,
                                 options_for(endpoint, exporter_waits, m.desk_keys.public_key));
  auto importer = Importer::open(m.desk, *m.desk_gate,
                                 options_for(endpoint, !exporter_waits, m.vehicle_keys.public_key));
  REQUIRE(exporter.has_value());
  REQUIRE(importer.has_value());
  const Runner vehicle_gate([&](int64_t until) { m.vehicle_gate->run_until(until); });
  const Runner desk_gate([&](int64_t until) { m.desk_gate->run_until(until); });
  const Runner exports([&](int64_t until) { (*exporter)->run_until(until); });
  const Runner imports([&](int64_t until) { (*importer)->run_until(until); });
  CHECK(m.arrives(60'000));
  CHECK(await([&] { return (*exporter)->counters(0).subscribers == 1; }));
  CHECK(await([&] { return (*exporter)->counters(0).messages > 0; }));
  CHECK(await([&] { return (*importer)->counters(0).messages > 0; }));
  CHECK((*importer)->strays() == 0);
  const Gate& gate = exporter_waits ? *m.vehicle_gate : *m.desk_gate;
  CHECK(await([&] { return gate.accepted() == 1; }));
  // In order and whole, whatever the size.
  const std::string large(20000, 'x');
  m.send(large);
  m.send("end");
  std::string got;
  for (const int64_t end = in_ms(60'000); got != large && base::mono_time_ns() < end;) {
    got = m.receive();
  }
  CHECK(got == large);
  for (const int64_t end = in_ms(60'000); got != "end" && base::mono_time_ns() < end;) {
    got = m.receive();
  }
  CHECK(got == "end");
}

TEST_CASE("a bridge carries topics of shared memory") {
  const test::QueueDomain here, there;
  transport::SharedMemory vehicle(here.options()), desk(there.options());
  const KeyPair vehicle_keys = new_keys(), desk_keys = new_keys();
  const auto vehicle_gate = gate_of(vehicle_keys, {desk_keys.public_key});
  const auto desk_gate = gate_of(desk_keys, {});
  const std::string endpoint = new_endpoint();
  auto exporter = Exporter::open(vehicle, *vehicle_gate, options_for(endpoint, true, ""));
  auto importer =
      Importer::open(desk, *desk_gate, options_for(endpoint, false, vehicle_keys.public_key));
  REQUIRE(exporter.has_value());
  REQUIRE(importer.has_value());
  auto out = std::move(*vehicle.open_sender("topic", {.schema_hash = kSchema}));
  auto in = std::move(*desk.open_receiver("topic", {.schema_hash = kSchema}));
  const Runner gate([&](int64_t until) { vehicle_gate->run_until(until); });
  const Runner exports([&](int64_t until) { (*exporter)->run_until(until); });
  const Runner imports([&](int64_t until) { (*importer)->run_until(until); });
  bool has_arrived = false;
  for (const int64_t end = in_ms(60'000); !has_arrived && base::mono_time_ns() < end;) {
    REQUIRE(out->send(base::as_bytes(std::string_view("hello"))).is_ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const auto received = in->receive();
    has_arrived = received.has_value() && base::as_text(received->bytes) == "hello";
  }
  CHECK(has_arrived);
}

TEST_CASE("a stranger receives nothing") {
  for (const Trial& trial : kTrials) {
    INFO(trial.who);
    TwoMachines m;
    const KeyPair keys = new_keys(), wrong = new_keys();
    const auto gate =
        gate_of(m.vehicle_keys, {trial.is_allowed ? keys.public_key : m.desk_keys.public_key});
    const std::string endpoint = new_endpoint();
    auto exporter = Exporter::open(m.vehicle, *gate, options_for(endpoint, true, ""));
    REQUIRE(exporter.has_value());
    Stranger stranger(ZMQ_SUB, endpoint, trial.has_keys ? &keys : nullptr,
                      trial.knows_server ? m.vehicle_keys.public_key : wrong.public_key);
    const Runner gate_runner([&](int64_t until) { gate->run_until(until); });
    const Runner exports([&](int64_t until) { (*exporter)->run_until(until); });
    const bool may = trial.has_keys && trial.knows_server && trial.is_allowed;
    int size = -1;
    // Who may gets as long as it takes; the others as long as it would take many times over, and
    // until he is seen to be turned away where that can be seen.
    const bool is_seen = trial.knows_server && !may;
    const int64_t start_ns = base::mono_time_ns();
    const auto goes_on = [&] {
      const int64_t waited_ns = base::mono_time_ns() - start_ns;
      if (size >= 0 || waited_ns > 60'000 * kMs) return false;
      return may || waited_ns < 700 * kMs || (is_seen && gate->refused() == 0);
    };
    while (goes_on()) {
      m.send("secret");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      size = stranger.receive();
    }
    CHECK((size > 0) == may);
    CHECK(await([&] { return gate->accepted() == (may ? 1 : 0); }));
    if (is_seen) CHECK(gate->refused() > 0);
  }
}

TEST_CASE("a stranger injects nothing") {
  for (const Trial& trial : kTrials) {
    INFO(trial.who);
    TwoMachines m;
    const KeyPair keys = new_keys(), wrong = new_keys();
    const auto gate =
        gate_of(m.desk_keys, {trial.is_allowed ? keys.public_key : m.vehicle_keys.public_key});
    const std::string endpoint = new_endpoint();
    auto importer = Importer::open(m.desk, *gate, options_for(endpoint, true, ""));
    REQUIRE(importer.has_value());
    Stranger stranger(ZMQ_PUB, endpoint, trial.has_keys ? &keys : nullptr,
                      trial.knows_server ? m.desk_keys.public_key : wrong.public_key);
    const Runner gate_runner([&](int64_t until) { gate->run_until(until); });
    const Runner imports([&](int64_t until) { (*importer)->run_until(until); });
    const bool may = trial.has_keys && trial.knows_server && trial.is_allowed;
    bool has_arrived = false;
    for (const int64_t end = in_ms(may ? 60'000 : 700);
         !has_arrived && base::mono_time_ns() < end;) {
      stranger.inject("topic", "brake!");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      has_arrived = m.receive() == "brake!";
    }
    CHECK(has_arrived == may);
    CHECK(await([&] { return ((*importer)->counters(0).messages > 0) == may; }));
  }
}

TEST_CASE("a server with another key than the one expected injects nothing") {
  TwoMachines m;
  const KeyPair impostor = new_keys();
  const auto impostor_gate = gate_of(impostor, {m.desk_keys.public_key});
  const std::string endpoint = new_endpoint();
  auto exporter = Exporter::open(m.vehicle, *impostor_gate, options_for(endpoint, true, ""));
  auto importer =
      Importer::open(m.desk, *m.desk_gate, options_for(endpoint, false, m.vehicle_keys.public_key));
  REQUIRE(exporter.has_value());
  REQUIRE(importer.has_value());
  const Runner gate([&](int64_t until) { impostor_gate->run_until(until); });
  const Runner exports([&](int64_t until) { (*exporter)->run_until(until); });
  const Runner imports([&](int64_t until) { (*importer)->run_until(until); });
  CHECK_FALSE(m.arrives(700));
}

TEST_CASE("a peer's messages of other topics and schemas go nowhere") {
  TwoMachines m;
  const KeyPair keys = new_keys();
  const auto gate = gate_of(m.desk_keys, {keys.public_key});
  const std::string endpoint = new_endpoint();
  auto importer =
      Importer::open(m.desk, *gate, options_for(endpoint, true, "", "topic", kSchema + 1));
  REQUIRE(importer.has_value());
  Stranger peer(ZMQ_PUB, endpoint, &keys, m.desk_keys.public_key);
  const Runner gate_runner([&](int64_t until) { gate->run_until(until); });
  const Runner imports([&](int64_t until) { (*importer)->run_until(until); });
  const RouteCounters& counters = (*importer)->counters(0);
  for (const int64_t end = in_ms(60'000); counters.rejected == 0 && base::mono_time_ns() < end;) {
    peer.inject("other", "x");  // ZeroMQ itself keeps back what is not asked for
    peer.inject("topic", "x");
    (void)::zmq_send(peer.socket, "topic\0rubbish", 13, ZMQ_DONTWAIT);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (const int64_t end = in_ms(60'000);
       (*importer)->strays() == 0 && base::mono_time_ns() < end;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  CHECK(counters.rejected > 0);
  CHECK((*importer)->strays() > 0);
  CHECK(counters.messages == 0);
  CHECK(m.receive().empty());
}

TEST_CASE("a slow peer holds up nobody, and what it costs is counted") {
  TwoMachines m;
  const KeyPair slow_keys = new_keys();
  const auto gate = gate_of(m.vehicle_keys, {m.desk_keys.public_key, slow_keys.public_key});
  const std::string endpoint = new_endpoint();
  BridgeOptions options = options_for(endpoint, true, "");
  options.high_water = 4;
  auto exporter = Exporter::open(m.vehicle, *gate, options);
  BridgeOptions importing = options_for(endpoint, false, m.vehicle_keys.public_key);
  importing.routes[0].queue_bytes = 8 << 20;
  auto importer = Importer::open(m.desk, *m.desk_gate, importing);
  REQUIRE(exporter.has_value());
  REQUIRE(importer.has_value());
  const Runner gate_runner([&](int64_t until) { gate->run_until(until); });
  const Runner exports([&](int64_t until) { (*exporter)->run_until(until); });
  const Runner imports([&](int64_t until) { (*importer)->run_until(until); });
  const RouteCounters& sent = (*exporter)->counters(0);
  const RouteCounters& got = (*importer)->counters(0);
  REQUIRE(await([&] { return sent.subscribers == 1; }));
  for (uint64_t i = 1; i <= 20; ++i) {  // one at a time, so that the queue is never full
    m.send("control");
    REQUIRE(await([&] { return got.messages == i; }));
  }
  CHECK(sent.times_full == 0);

  Stranger slow(ZMQ_SUB, endpoint, &slow_keys, m.vehicle_keys.public_key, 1);  // and never reads
  const std::string large(400'000, 'x');
  for (const int64_t end = in_ms(60'000); sent.times_full == 0 && base::mono_time_ns() < end;) {
    m.send(large);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  CHECK(sent.subscribers >= 1);
  CHECK(sent.times_full > 0);
  const uint64_t before = got.messages;
  CHECK(await([&] {
    m.send("more");
    return got.messages >= before + 20;
  }));
}

TEST_CASE("messages lost on the way are counted where they are missed") {
  TwoMachines m;
  const KeyPair keys = new_keys();
  const auto gate = gate_of(m.desk_keys, {keys.public_key});
  const std::string endpoint = new_endpoint();
  auto importer = Importer::open(m.desk, *gate, options_for(endpoint, true, ""));
  REQUIRE(importer.has_value());
  Stranger peer(ZMQ_PUB, endpoint, &keys, m.desk_keys.public_key);
  const Runner gate_runner([&](int64_t until) { gate->run_until(until); });
  const Runner imports([&](int64_t until) { (*importer)->run_until(until); });
  const RouteCounters& counters = (*importer)->counters(0);
  uint64_t sequence = 0;
  const auto inject_until = [&](uint64_t messages) {
    for (const int64_t end = in_ms(60'000);
         counters.messages < messages && base::mono_time_ns() < end;) {
      peer.inject("topic", "x", ++sequence);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  };
  inject_until(5);
  CHECK(counters.lost == 0);
  sequence += 3;
  inject_until(counters.messages + 5);
  CHECK(counters.lost == 3);
}

TEST_CASE("keys and endpoints that are none are refused with a sentence") {
  const KeyPair keys = new_keys();
  CHECK(Gate::open({"short", keys.secret_key}, {}).error().code() == Code::kInvalidArgument);
  CHECK(Gate::open(keys, {"short"}).error().code() == Code::kInvalidArgument);
  CHECK(test::last_sentence().find("a line of the allow-list is no key") == 0);
  const auto gate = gate_of(keys, {});
  transport::InProcess transport;
  CHECK(Exporter::open(transport, *gate, options_for("tcp://nonsense", true, "")).error().code() ==
        Code::kIo);
  CHECK(test::last_sentence().find("can't wait at tcp://nonsense") == 0);
  CHECK(Importer::open(transport, *gate, options_for(new_endpoint(), false, "")).error().code() ==
        Code::kInvalidArgument);
  const std::string endpoint = new_endpoint();
  auto first = Exporter::open(transport, *gate, options_for(endpoint, true, ""));
  REQUIRE(first.has_value());
  CHECK_FALSE(Exporter::open(transport, *gate, options_for(endpoint, true, "")).has_value());
}

TEST_CASE("bytes from the wire are taken apart with care") {
  const WireMessage message = {.topic = "topic", .header = {.sequence = 3}, .payload = {}};
  std::vector<std::byte> bytes(wire_size(message.topic, 0));
  write_wire(message, bytes.data());
  const auto back = read_wire(bytes);
  REQUIRE(back.has_value());
  CHECK(back->topic == "topic");
  CHECK(back->header.sequence == 3);
  CHECK(back->payload.empty());
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(read_wire(base::Bytes(bytes).first(size)).has_value());
  }
  bytes[6] = std::byte{1};  // in the magic number
  CHECK_FALSE(read_wire(bytes).has_value());
}

}  // namespace camshaft::bridge
