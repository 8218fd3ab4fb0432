// SPDX-License-Identifier: MIT
#include "tools/command/topic_rates.h"

#include <algorithm>

#include "msgq/schema/services.h"
#include "tools/command/table.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

using io::Json;

uint64_t growth(uint64_t before, uint64_t now) {
  return now > before ? now - before : 0;
}

const queue::ReaderInfo* same_reader(const queue::TopicInfo& topic, const queue::ReaderInfo& like) {
  for (const queue::ReaderInfo& reader : topic.readers) {
    if (reader.slot == like.slot && reader.pid == like.pid && reader.name == like.name) {
      return &reader;
    }
  }
  return nullptr;
}

ReaderRates reader_rates(const queue::TopicInfo& before, const TopicLook& now,
                         const queue::ReaderInfo& reader, double rate_hz) {
  ReaderRates rates;
  rates.name = reader.name;
  rates.pid = reader.pid;
  rates.behind = growth(reader.next_sequence, now.info.newest_sequence + 1);
  if (rates.behind > 0 && now.info.newest_mono_time_ns > 0) {
    const double newest_age_s =
        static_cast<double>(now.time_ns - now.info.newest_mono_time_ns) * 1e-9;
    const double others_s = rate_hz > 0 ? static_cast<double>(rates.behind - 1) / rate_hz : 0;
    rates.behind_s = std::max(0.0, newest_age_s) + others_s;
  }
  const queue::ReaderInfo* const earlier = same_reader(before, reader);
  rates.dropped = growth(earlier == nullptr ? 0 : earlier->dropped, reader.dropped);
  rates.dropped_total = reader.dropped;
  rates.conflated_total = reader.conflated;
  return rates;
}

// "modeld, loggerd (12 behind)"; names that several readers have are told apart by their process.
std::string readers_text(const std::vector<ReaderRates>& readers) {
  std::vector<std::string> parts;
  for (const ReaderRates& reader : readers) {
    const auto same = std::count_if(readers.begin(), readers.end(), [&](const ReaderRates& other) {
      return other.name == reader.name;
    });
    std::string part = reader.name.empty() ? "?" : reader.name;
    if (same > 1) part += ":" + std::to_string(reader.pid);
    if (reader.behind > 1) part += " (" + std::to_string(reader.behind) + " behind)";
    parts.push_back(part);
  }
  return join(parts, ", ");
}

}  // namespace

TopicRates rates_between(const TopicLook& before, const TopicLook& now) {
  TopicRates rates;
  rates.name = now.info.name;
  if (const schema::Service* service = schema::find_service(now.info.name)) {
    rates.schema = service->schema;
    rates.nominal_hz = service->rate_hz;
  }
  rates.has_publisher = now.info.has_publisher;
  rates.publisher_pid = now.info.publisher_pid;
  const double span_s = static_cast<double>(now.time_ns - before.time_ns) * 1e-9;
  const auto per_second = [&](uint64_t from, uint64_t to) {
    return span_s > 0 ? static_cast<double>(growth(from, to)) / span_s : 0;
  };
  rates.rate_hz = per_second(before.info.newest_sequence, now.info.newest_sequence);
  rates.bytes_per_s = per_second(before.info.payload_bytes, now.info.payload_bytes);
  if (now.info.newest_sequence > 0) {
    rates.age_s = static_cast<double>(now.time_ns - now.info.newest_mono_time_ns) * 1e-9;
  }
  rates.messages = now.info.newest_sequence;
  rates.refused = now.info.refused;
  rates.revoked = now.info.revoked;
  for (const queue::ReaderInfo& reader : now.info.readers) {
    rates.readers.push_back(reader_rates(before.info, now, reader, rates.rate_hz));
  }
  return rates;
}

std::string rates_text(const std::vector<TopicRates>& topics) {
  Table table({{"topic"},
               {"rate", Align::kRight},
               {"bytes/s", Align::kRight},
               {"age", Align::kRight},
               {"latency", Align::kRight},
               {"dropped", Align::kRight},
               {"publisher"},
               {"readers"}});
  for (const TopicRates& topic : topics) {
    double latency_s = 0;
    uint64_t dropped = 0;
    for (const ReaderRates& reader : topic.readers) {
      latency_s = std::max(latency_s, reader.behind_s);
      dropped += reader.dropped_total;
    }
    table.add_row({topic.name, format_text("%.1f Hz%s", topic.rate_hz, topic.is_slow() ? " !" : ""),
                   bytes_text(static_cast<uint64_t>(topic.bytes_per_s)),
                   topic.age_s < 0 ? "-" : duration_text(topic.age_s),
                   topic.readers.empty() ? "-" : duration_text(latency_s), std::to_string(dropped),
                   topic.has_publisher ? std::to_string(topic.publisher_pid) : "none",
                   readers_text(topic.readers)});
  }
  return table.text();
}

Json rates_json(const std::vector<TopicRates>& topics) {
  Json list = Json::array();
  for (const TopicRates& topic : topics) {
    Json readers = Json::array();
    for (const ReaderRates& reader : topic.readers) {
      readers.push_back({{"name", printable(reader.name)},
                         {"pid", reader.pid},
                         {"behind", reader.behind},
                         {"latency_s", reader.behind_s},
                         {"dropped", reader.dropped},
                         {"dropped_total", reader.dropped_total},
                         {"conflated_total", reader.conflated_total}});
    }
    list.push_back({{"topic", topic.name},
                    {"schema", topic.schema},
                    {"nominal_hz", topic.nominal_hz},
                    {"has_publisher", topic.has_publisher},
                    {"publisher_pid", topic.publisher_pid},
                    {"rate_hz", topic.rate_hz},
                    {"bytes_per_s", topic.bytes_per_s},
                    {"age_s", topic.age_s < 0 ? Json() : Json(topic.age_s)},
                    {"messages", topic.messages},
                    {"refused", topic.refused},
                    {"revoked", topic.revoked},
                    {"readers", readers}});
  }
  return list;
}

}  // namespace camshaft::command
