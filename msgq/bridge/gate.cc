// SPDX-License-Identifier: MIT
#include "msgq/bridge/gate.h"

#include <zmq.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/base/clock.h"

namespace camshaft::bridge {
namespace {

using base::Code;

constexpr size_t kKeyCharacters = 40;
constexpr const char* kDomain = "camshaft";
// Where ZeroMQ asks about each peer that wants to connect (its ZAP protocol).
constexpr const char* kRequests = "inproc://zeromq.zap.01";
// ZeroMQ 4.3.4 ends the process ("Assertion failed: _input_stopped") where a connection is made
// anew while its receiving queue is full. So receivers have no bound of their own (they take what
// comes at once, and the sender's is bounded), and a machine that has gone is noticed by TCP:
// ZeroMQ's heartbeats would take one that is busy for gone.
constexpr int kKeepaliveIdleS = 5;
constexpr int kKeepaliveIntervalS = 2;
constexpr int kKeepaliveProbes = 3;

base::Status failed(const char* what) {
  return base::fail_errno(Code::kIo, "bridge.zmq", 0, "ZeroMQ can't %s: %s", what,
                          ::zmq_strerror(::zmq_errno()));
}

// One part of a message of few bytes; the size it had, or -1.
struct Part {
  char bytes[256];
  int size = -1;
  bool has_more = false;

  std::string_view text() const {
    return {bytes, static_cast<size_t>(std::clamp(size, 0, static_cast<int>(sizeof bytes)))};
  }
};

Part receive_part(void* socket) {
  Part part;
  part.size = ::zmq_recv(socket, part.bytes, sizeof part.bytes, ZMQ_DONTWAIT);
  int more = 0;
  size_t size = sizeof more;
  ::zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size);
  part.has_more = part.size >= 0 && more != 0;
  return part;
}

}  // namespace

base::Result<KeyPair> make_key_pair() {
  char public_key[kKeyCharacters + 1], secret_key[kKeyCharacters + 1];
  if (::zmq_curve_keypair(public_key, secret_key) != 0) {
    return base::fail(Code::kUnsupported, "bridge.keys",
                      "this ZeroMQ library was built without CURVE, which the bridge needs");
  }
  return KeyPair{public_key, secret_key};
}

base::Status check_key(std::string_view key, const char* whose) {
  uint8_t raw[32];
  if (key.size() == kKeyCharacters && ::zmq_z85_decode(raw, std::string(key).c_str()) != nullptr) {
    return base::ok();
  }
  return base::fail(
      Code::kInvalidArgument, "bridge.key",
      "%s is no key: a key has 40 characters, as the bridge's --make-keys writes them", whose);
}

// --- Socket
// ------------------------------------------------------------------------------------------

Socket::Socket(Socket&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

Socket::~Socket() {
  if (handle_ != nullptr) ::zmq_close(handle_);
}

base::Status Socket::set(int option, int value) {
  return ::zmq_setsockopt(handle_, option, &value, sizeof value) == 0 ? base::ok()
                                                                      : failed("set an option");
}

base::Status Socket::set(int option, int64_t value) {
  return ::zmq_setsockopt(handle_, option, &value, sizeof value) == 0 ? base::ok()
                                                                      : failed("set an option");
}

base::Status Socket::set(int option, std::string_view value) {
  return ::zmq_setsockopt(handle_, option, value.data(), value.size()) == 0
             ? base::ok()
             : failed("set an option");
}

// --- Gate
// --------------------------------------------------------------------------------------------

base::Result<std::unique_ptr<Gate>> Gate::open(const KeyPair& own,
                                               const std::vector<std::string>& allowed) {
  CAMSHAFT_TRY(check_key(own.public_key, "the bridge's own public key"));
  CAMSHAFT_TRY(check_key(own.secret_key, "the bridge's own secret key"));
  void* const context = ::zmq_ctx_new();
  if (context == nullptr) return failed("start");
  std::unique_ptr<Gate> gate(new Gate(context, own));
  for (const std::string& key : allowed) {
    CAMSHAFT_TRY(check_key(key, "a line of the allow-list"));
    RawKey raw;
    ::zmq_z85_decode(reinterpret_cast<uint8_t*>(raw.data()), key.c_str());
    gate->allowed_.push_back(raw);
  }
  // Before any socket is bound: ZeroMQ lets everybody in where nobody can be asked.
  gate->requests_ = Socket(::zmq_socket(context, ZMQ_REP));
  if (gate->requests_.get() == nullptr || ::zmq_bind(gate->requests_.get(), kRequests) != 0) {
    return failed("guard its sockets");
  }
  return gate;
}

Gate::~Gate() {
  requests_ = Socket(nullptr);
  ::zmq_ctx_term(context_);
}

void Gate::run_until(int64_t deadline_ns) noexcept {
  while (true) {
    while (answer()) {
    }
    const int64_t left_ms = (deadline_ns - base::mono_time_ns()) / 1'000'000;
    if (left_ms <= 0) return;
    zmq_pollitem_t item = {requests_.get(), 0, ZMQ_POLLIN, 0};
    (void)::zmq_poll(&item, 1, static_cast<long>(std::min<int64_t>(left_ms, 1000)));
  }
}

// A request has the parts version, request id, domain, address, identity, mechanism, key. False
// where there is none.
bool Gate::answer() noexcept {
  Part version = receive_part(requests_.get());
  if (version.size < 0) return false;
  Part parts[6] = {};  // the others
  int count = 0;
  bool has_more = version.has_more;
  for (; has_more; ++count) {
    Part part = receive_part(requests_.get());
    has_more = part.has_more;
    if (count < 6) parts[count] = part;
  }
  const bool is_known = count == 6 && parts[4].text() == "CURVE" &&
                        parts[5].size == static_cast<int>(sizeof(RawKey)) &&
                        std::any_of(allowed_.begin(), allowed_.end(), [&](const RawKey& key) {
                          return std::memcmp(key.data(), parts[5].bytes, key.size()) == 0;
                        });
  (is_known ? accepted_ : refused_).fetch_add(1, std::memory_order_relaxed);
  const std::string_view id = parts[0].text();
  const auto send = [&](std::string_view text, int flags) {
    (void)::zmq_send(requests_.get(), text.data(), text.size(), flags);
  };
  send("1.0", ZMQ_SNDMORE);
  send(id, ZMQ_SNDMORE);
  send(is_known ? "200" : "400", ZMQ_SNDMORE);
  send(is_known ? "OK" : "not on the allow-list", ZMQ_SNDMORE);
  send("", ZMQ_SNDMORE);
  send("", 0);
  return true;
}

base::Result<Socket> Gate::make_socket(int type, const Link& link, int high_water,
                                       uint64_t max_message_bytes) {
  Socket socket(::zmq_socket(context_, type));
  if (socket.get() == nullptr) return failed("make a socket");
  CAMSHAFT_TRY(socket.set(ZMQ_LINGER, 0));
  CAMSHAFT_TRY(socket.set(ZMQ_SNDHWM, high_water));
  CAMSHAFT_TRY(socket.set(ZMQ_RCVHWM, 0));
  CAMSHAFT_TRY(socket.set(ZMQ_MAXMSGSIZE, static_cast<int64_t>(max_message_bytes)));
  CAMSHAFT_TRY(socket.set(ZMQ_TCP_KEEPALIVE, 1));
  CAMSHAFT_TRY(socket.set(ZMQ_TCP_KEEPALIVE_IDLE, kKeepaliveIdleS));
  CAMSHAFT_TRY(socket.set(ZMQ_TCP_KEEPALIVE_INTVL, kKeepaliveIntervalS));
  CAMSHAFT_TRY(socket.set(ZMQ_TCP_KEEPALIVE_CNT, kKeepaliveProbes));
  CAMSHAFT_TRY(socket.set(ZMQ_CURVE_SECRETKEY, own_.secret_key));
  CAMSHAFT_TRY(socket.set(ZMQ_CURVE_PUBLICKEY, own_.public_key));
  if (link.waits) {
    CAMSHAFT_TRY(socket.set(ZMQ_ZAP_DOMAIN, std::string_view(kDomain)));
    CAMSHAFT_TRY(socket.set(ZMQ_CURVE_SERVER, 1));
  } else {
    CAMSHAFT_TRY(check_key(link.server_key, "the key of the machine to connect to"));
    CAMSHAFT_TRY(socket.set(ZMQ_CURVE_SERVERKEY, link.server_key));
  }
  const int result = link.waits ? ::zmq_bind(socket.get(), link.endpoint.c_str())
                                : ::zmq_connect(socket.get(), link.endpoint.c_str());
  if (result != 0) {
    return base::fail(Code::kIo, "bridge.endpoint", "can't %s %.200s: %s",
                      link.waits ? "wait at" : "connect to", link.endpoint.c_str(),
                      ::zmq_strerror(::zmq_errno()));
  }
  return socket;
}

}  // namespace camshaft::bridge
