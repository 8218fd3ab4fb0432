// SPDX-License-Identifier: MIT
#include "msgq/services/pub_master.h"

#include "msgq/services/known_service.h"

namespace camshaft::services {

base::Result<PubMaster> PubMaster::open(transport::Transport& transport,
                                        std::span<const std::string_view> services) {
  PubMaster master(transport);
  for (const std::string_view name : services) {
    CAMSHAFT_TRY_ASSIGN(const schema::Service* service, known_service(name));
    Output output;
    output.service = service;
    output.body = schema::body_index(service->schema);
    const transport::SenderOptions options = {.schema_hash = schema::schema_id(output.body),
                                              .queue_bytes = service->queue_bytes};
    CAMSHAFT_TRY_ASSIGN(output.sender, transport.open_sender(name, options));
    master.outputs_.push_back(std::move(output));
  }
  return master;
}

base::Result<PubMaster::Output*> PubMaster::find(std::string_view service) noexcept {
  for (Output& output : outputs_) {
    if (service == output.service->name) return &output;
  }
  return base::fail(base::Code::kInvalidArgument, "services.send",
                    "this PubMaster does not send '%.*s': name it when opening it",
                    static_cast<int>(service.size()), service.data());
}

base::Status PubMaster::send(std::string_view service, schema::Message& message) noexcept {
  CAMSHAFT_TRY_ASSIGN(Output * output, find(service));
  if (message.body.index() != output->body) {
    return base::fail(base::Code::kInvalidArgument, "services.send", "'%s' carries %s, not %s",
                      output->service->name, output->service->schema,
                      schema::body_name(message.body.index()));
  }
  message.service = service;
  if (message.mono_time_ns == 0) message.mono_time_ns = transport_->now_ns();
  CAMSHAFT_TRY_ASSIGN(const base::Bytes bytes, output->encoder.encode(message));
  return output->sender->send(bytes);
}

base::Status PubMaster::send_bytes(std::string_view service, base::Bytes message) noexcept {
  CAMSHAFT_TRY_ASSIGN(Output * output, find(service));
  return output->sender->send(message);
}

}  // namespace camshaft::services
