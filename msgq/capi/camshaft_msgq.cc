// SPDX-License-Identifier: MIT
#include "msgq/capi/camshaft_msgq.h"

#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "msgq/schema/codec.h"
#include "msgq/schema/json.h"
#include "msgq/schema/services.h"
#include "msgq/services/pub_master.h"
#include "msgq/services/sub_master.h"
#include "msgq/transport/shared_memory.h"
#include "runtime/base/clock.h"
#include "runtime/base/log_ring.h"

namespace base = camshaft::base;
namespace schema = camshaft::schema;
namespace services = camshaft::services;
namespace transport = camshaft::transport;

struct camshaft_publisher {
  explicit camshaft_publisher(const char* prefix)
      : transport({.prefix = prefix == nullptr ? "" : prefix}) {}

  transport::SharedMemory transport;
  std::unique_ptr<services::PubMaster> master;
  schema::Message message;  // for looking at what is to be sent
};

struct camshaft_subscriber {
  explicit camshaft_subscriber(const char* prefix)
      : transport({.prefix = prefix == nullptr ? "" : prefix}) {}

  transport::SharedMemory transport;
  std::unique_ptr<services::SubMaster> master;
  std::string json;
  std::string complaint;
};

namespace {

using base::Code;
using base::Status;

static_assert(CAMSHAFT_MSGQ_OK == static_cast<int>(Code::kOk));
static_assert(CAMSHAFT_MSGQ_DEADLINE_EXCEEDED == static_cast<int>(Code::kDeadlineExceeded));

thread_local char last_error[base::kLogLineBytes] = "";

// Keeps the sentence that was written to the log ring since `before`.
camshaft_msgq_status finish(Status status, uint64_t before) {
  if (!status.is_ok()) {
    std::snprintf(last_error, sizeof last_error, "%s (%s)", base::code_name(status.code()),
                  status.site());
    for (const base::LogLine& line : base::log_lines_after(before)) {
      if (line.kind != base::LogKind::kFailure) continue;
      std::snprintf(last_error, sizeof last_error, "%s", line.text.c_str());
    }
  }
  return static_cast<camshaft_msgq_status>(status.code());
}

Status missing(const char* what) {
  return base::fail(Code::kInvalidArgument, "msgq_capi.null", "%s is a null pointer", what);
}

Status check_index(const camshaft_subscriber& subscriber, uint32_t index) {
  if (index < subscriber.master->size()) return base::ok();
  return base::fail(Code::kInvalidArgument, "msgq_capi.index",
                    "the subscriber has %zu services, no number %u", subscriber.master->size(),
                    index);
}

base::Result<std::unique_ptr<camshaft_publisher>> open_publisher(const char* prefix,
                                                                 const char* const* names,
                                                                 uint32_t count) {
  std::vector<std::string_view> list;
  for (uint32_t i = 0; i < count; ++i) {
    if (names == nullptr || names[i] == nullptr) return missing("a service's name");
    list.emplace_back(names[i]);
  }
  auto publisher = std::make_unique<camshaft_publisher>(prefix);
  CAMSHAFT_TRY_ASSIGN(services::PubMaster master,
                      services::PubMaster::open(publisher->transport, list));
  publisher->master = std::make_unique<services::PubMaster>(std::move(master));
  return publisher;
}

Status send(camshaft_publisher* publisher, const char* service, base::Bytes bytes) {
  if (publisher == nullptr || service == nullptr) return missing("the publisher or the service");
  CAMSHAFT_TRY(schema::decode(bytes, publisher->message));
  const schema::Service* const known = schema::find_service(service);
  const char* const body = schema::body_name(publisher->message.body.index());
  if (known != nullptr && std::string_view(body) != known->schema) {
    return base::fail(Code::kInvalidArgument, "msgq_capi.body", "'%s' carries %s, not %s", service,
                      known->schema, body);
  }
  return publisher->master->send_bytes(service, bytes);
}

base::Result<std::unique_ptr<camshaft_subscriber>> open_subscriber(
    const char* prefix, const char* name, std::span<const camshaft_subscription> subscriptions) {
  std::vector<services::Subscription> list;
  for (const camshaft_subscription& subscription : subscriptions) {
    if (subscription.service == nullptr) return missing("a service's name");
    list.push_back({.service = subscription.service,
                    .conflate = subscription.conflate != 0,
                    .wakes = subscription.wakes != 0,
                    .is_optional = subscription.is_optional != 0,
                    .rate_hz = subscription.rate_hz});
  }
  auto subscriber = std::make_unique<camshaft_subscriber>(prefix);
  CAMSHAFT_TRY_ASSIGN(services::SubMaster master,
                      services::SubMaster::open(subscriber->transport, list,
                                                {.name = name == nullptr ? "" : name}));
  subscriber->master = std::make_unique<services::SubMaster>(std::move(master));
  return subscriber;
}

camshaft_service_state to_c(const services::ServiceState& state) {
  camshaft_service_state out = {};
  out.updated = state.updated;
  out.seen = state.seen;
  out.alive = state.alive;
  out.valid = state.valid;
  out.rate_ok = state.rate_ok;
  out.ok = state.is_ok();
  out.rate_1s = state.rate_1s;
  out.rate_10s = state.rate_10s;
  out.late_by_ns = state.late.by_ns;
  out.late_since_ns = state.late.since_ns;
  out.last_late_by_ns = state.last_late.by_ns;
  out.last_late_since_ns = state.last_late.since_ns;
  out.times_late = state.times_late;
  out.sequence = state.sequence;
  out.sent_ns = state.sent_ns;
  out.received = state.received;
  out.dropped = state.dropped;
  out.damaged = state.damaged;
  return out;
}

}  // namespace

extern "C" {

const char* camshaft_msgq_last_error(void) {
  return last_error;
}

int64_t camshaft_msgq_now_ns(void) {
  return base::mono_time_ns();
}

uint32_t camshaft_service_count(void) {
  return static_cast<uint32_t>(schema::services().size());
}

camshaft_msgq_status camshaft_service_get(uint32_t index, camshaft_service* out) {
  const uint64_t before = base::log_sequence();
  if (out == nullptr || index >= schema::services().size()) {
    return finish(base::fail(Code::kInvalidArgument, "msgq_capi.service",
                             "there is no service number %u, or no place to put it", index),
                  before);
  }
  const schema::Service& service = schema::services()[index];
  *out = {service.name, service.schema, service.rate_hz, service.log_decimation,
          service.queue_bytes};
  return CAMSHAFT_MSGQ_OK;
}

camshaft_msgq_status camshaft_publisher_open(const char* prefix, const char* const* names,
                                             uint32_t count, camshaft_publisher** out) {
  const uint64_t before = base::log_sequence();
  if (out == nullptr) return finish(missing("the place for the publisher"), before);
  auto opened = open_publisher(prefix, names, count);
  if (!opened) return finish(opened.error(), before);
  *out = opened->release();
  return CAMSHAFT_MSGQ_OK;
}

void camshaft_publisher_close(camshaft_publisher* publisher) {
  delete publisher;
}

camshaft_msgq_status camshaft_publisher_send(camshaft_publisher* publisher, const char* service,
                                             const void* bytes, size_t size) {
  const uint64_t before = base::log_sequence();
  return finish(send(publisher, service, {static_cast<const std::byte*>(bytes), size}), before);
}

camshaft_msgq_status camshaft_subscriber_open(const char* prefix, const char* name,
                                              const camshaft_subscription* subscriptions,
                                              uint32_t count, camshaft_subscriber** out) {
  const uint64_t before = base::log_sequence();
  if (out == nullptr || subscriptions == nullptr) {
    return finish(missing("the subscriptions, or the place for the subscriber"), before);
  }
  auto opened = open_subscriber(prefix, name, {subscriptions, count});
  if (!opened) return finish(opened.error(), before);
  *out = opened->release();
  return CAMSHAFT_MSGQ_OK;
}

void camshaft_subscriber_close(camshaft_subscriber* subscriber) {
  delete subscriber;
}

camshaft_msgq_status camshaft_subscriber_update(camshaft_subscriber* subscriber,
                                                int64_t deadline_ns) {
  const uint64_t before = base::log_sequence();
  if (subscriber == nullptr) return finish(missing("the subscriber"), before);
  return finish(subscriber->master->update(deadline_ns), before);
}

camshaft_msgq_status camshaft_subscriber_state(const camshaft_subscriber* subscriber,
                                               uint32_t index, camshaft_service_state* out) {
  const uint64_t before = base::log_sequence();
  if (subscriber == nullptr || out == nullptr) return finish(missing("the subscriber"), before);
  const Status status = check_index(*subscriber, index);
  if (status.is_ok()) *out = to_c(subscriber->master->state(index));
  return finish(status, before);
}

camshaft_msgq_status camshaft_subscriber_bytes(const camshaft_subscriber* subscriber,
                                               uint32_t index, const void** bytes, size_t* size) {
  const uint64_t before = base::log_sequence();
  if (subscriber == nullptr || bytes == nullptr || size == nullptr) {
    return finish(missing("the subscriber, or the place for the bytes"), before);
  }
  const Status status = check_index(*subscriber, index);
  if (!status.is_ok()) return finish(status, before);
  const base::Bytes found = subscriber->master->bytes(index);
  *bytes = found.data();
  *size = found.size();
  return CAMSHAFT_MSGQ_OK;
}

camshaft_msgq_status camshaft_subscriber_json(camshaft_subscriber* subscriber, uint32_t index,
                                              const char** json) {
  const uint64_t before = base::log_sequence();
  if (subscriber == nullptr || json == nullptr) return finish(missing("the subscriber"), before);
  const Status status = check_index(*subscriber, index);
  if (!status.is_ok()) return finish(status, before);
  subscriber->json = schema::to_json(subscriber->master->message(index));
  *json = subscriber->json.c_str();
  return CAMSHAFT_MSGQ_OK;
}

const char* camshaft_subscriber_complaint(camshaft_subscriber* subscriber) {
  if (subscriber == nullptr) return "";
  subscriber->complaint = subscriber->master->complaint();
  return subscriber->complaint.c_str();
}

}  // extern "C"
