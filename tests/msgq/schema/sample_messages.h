// SPDX-License-Identifier: MIT
// A message of every kind, with a value of its own in every field.
#pragma once

#include <type_traits>
#include <vector>

#include "msgq/schema/messages.h"

namespace camshaft::schema {

// Fills every field, by the list in fields(): numbers rise, texts and lists are not empty.
class Filler {
 public:
  template <typename T>
  void operator()(const char*, const T& field) {
    fill(const_cast<T&>(field));
  }

  void fill(bool& value) { value = true; }
  void fill(std::string& value) { value = "text " + std::to_string(++count_); }
  void fill(Gear& value) { value = Gear::kDrive; }
  void fill(HealthState& value) { value = HealthState::kFault; }
  template <typename T>
    requires std::is_arithmetic_v<T>
  void fill(T& value) {
    value = static_cast<T>(++count_);
  }
  template <typename T>
  void fill(std::vector<T>& values) {
    values.resize(3);
    for (T& value : values) fill(value);
  }
  template <typename T>
    requires std::is_class_v<T>
  void fill(T& value) {
    fields(value, *this);
  }

 private:
  int count_ = 0;
};

template <typename T>
Message sample_message() {
  Message message;
  message.service = "sample";
  message.mono_time_ns = 123456789;
  message.valid = true;
  message.reason = "for a test";
  Filler().fill(message.body.emplace<T>());
  return message;
}

inline std::vector<Message> sample_messages() {
  return {sample_message<CameraState>(),  sample_message<ModelOutput>(),
          sample_message<DriverState>(),  sample_message<Controls>(),
          sample_message<VehicleState>(), sample_message<LogHeader>(),
          sample_message<Health>()};
}

}  // namespace camshaft::schema
