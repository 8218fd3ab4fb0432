// SPDX-License-Identifier: MIT
// The messages as plain structs: what codec.h makes of the bytes on a topic. Times are on
// base::mono_time_ns()'s clock unless a name says otherwise; 0 is "not known". Text is UTF-8 and
// comes from other processes: print it with care.
//
// Each struct lists its fields once more in fields(), by the names that messages.capnp has for
// them; printers and tests go over that list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace camshaft::schema {

// One camera frame, and where it is: in slot `slot` of pool `pool_id` (msgq/frames/descriptor.h).
struct CameraState {
  std::string camera;
  uint64_t frame_id = 0;  // as the sensor counts: gaps are frames that the sensor dropped
  int64_t exposure_start_ns = 0;
  int64_t exposure_end_ns = 0;
  float exposure_s = 0;
  float gain = 0;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t format = 0;  // a DRM fourcc
  uint64_t pool_id = 0;
  uint32_t slot = 0;
  uint64_t sequence = 0;        // of the pool: gaps are frames that were not published
  uint64_t frames_skipped = 0;  // by the camera process, since it began
  uint64_t frames_starved = 0;  // of those, because every buffer was leased
  float temperature_c = 0;      // of the sensor
};

// A named part of a model's output.
struct Tensor {
  std::string name;
  std::string unit;
  std::vector<uint32_t> shape;
  std::vector<float> values;  // row-major
};

struct ModelOutput {
  std::string model;
  std::string plan_digest;
  uint64_t frame_id = 0;
  int64_t exposure_start_ns = 0;
  int64_t run_ns = 0;  // how long the run took
  int64_t age_ns = 0;  // from the start of exposure to the end of the run
  bool late = false;   // done after its deadline
  uint64_t frames_skipped = 0;
  std::vector<Tensor> outputs;
};

struct DriverState {
  uint64_t frame_id = 0;
  int64_t exposure_start_ns = 0;
  float face_probability = 0;
  float face_pitch_rad = 0;
  float face_yaw_rad = 0;
  float face_roll_rad = 0;
  float face_x = 0;  // of the middle, in parts of the image's width and height
  float face_y = 0;
  float left_eye_probability = 0;  // that it is seen
  float right_eye_probability = 0;
  float left_blink_probability = 0;
  float right_blink_probability = 0;
  float sunglasses_probability = 0;
  float poor_vision_probability = 0;
  float distracted_probability = 0;
};

// What the vehicle is asked to do.
struct Controls {
  bool engaged = false;
  float steering_angle_rad = 0;  // of the wheels, left positive
  float curvature_per_m = 0;
  float acceleration_mps2 = 0;
  float brake = 0;  // 0 to 1
  bool left_blinker = false;
  bool right_blinker = false;
  uint64_t model_frame_id = 0;  // of the model output that it follows
  int64_t model_age_ns = 0;
  std::string alert;
};

enum class Gear : uint16_t { kUnknown, kPark, kReverse, kNeutral, kDrive };

struct VehicleState {
  float speed_mps = 0;
  float acceleration_mps2 = 0;
  float yaw_rate_radps = 0;
  float steering_angle_rad = 0;
  float steering_torque_nm = 0;
  float gas = 0;  // 0 to 1
  float brake = 0;
  Gear gear = Gear::kUnknown;
  bool standstill = false;
  bool left_blinker = false;
  bool right_blinker = false;
  std::vector<std::string> faults;
};

struct LoggedService {
  std::string name;
  std::string schema;
  float rate_hz = 0;
  uint32_t log_decimation = 0;
};

// The first message of a log.
struct LogHeader {
  std::string drive_id;
  std::string program;
  std::string device;
  int64_t start_wall_time_ns = 0;  // since 1970, UTC
  int64_t start_mono_time_ns = 0;  // the same moment
  std::vector<std::string> plan_digests;
  std::vector<LoggedService> services;
};

enum class HealthState : uint16_t { kOk, kDegraded, kFault };

struct LateService {
  std::string name;
  int64_t late_by_ns = 0;
  int64_t since_ns = 0;
};

// How a process is doing.
struct Health {
  std::string process;
  HealthState state = HealthState::kOk;
  std::string reason;
  int64_t up_ns = 0;
  float cpu = 0;  // of one core
  uint64_t memory_bytes = 0;
  uint64_t deadlines_missed = 0;
  uint64_t frames_skipped = 0;
  std::vector<LateService> late_services;
  float temperature_c = 0;
};

// In the order of Message's union in messages.capnp; monostate: none.
using Body = std::variant<std::monostate, CameraState, ModelOutput, DriverState, Controls,
                          VehicleState, LogHeader, Health>;

struct Message {
  std::string service;
  int64_t mono_time_ns = 0;  // when the publisher made it
  bool valid = false;        // whether its readers may act on the body
  std::string reason;        // why not
  Body body;
};

// --- Fields
// ---------------------------------------------------------------------------------------

// The name that messages.capnp has for a body: "cameraState"; "none" for monostate. Static storage.
const char* body_name(size_t index);
// The index into Body of a name, or 0.
size_t body_index(std::string_view name);

const char* enumerant_name(Gear gear);
const char* enumerant_name(HealthState state);

// Each calls field(name, value) for every field of a struct, in the schema's order.
template <typename Field>
void fields(const CameraState& m, Field&& field) {
  field("camera", m.camera);
  field("frameId", m.frame_id);
  field("exposureStartNs", m.exposure_start_ns);
  field("exposureEndNs", m.exposure_end_ns);
  field("exposureS", m.exposure_s);
  field("gain", m.gain);
  field("width", m.width);
  field("height", m.height);
  field("format", m.format);
  field("poolId", m.pool_id);
  field("slot", m.slot);
  field("sequence", m.sequence);
  field("framesSkipped", m.frames_skipped);
  field("framesStarved", m.frames_starved);
  field("temperatureC", m.temperature_c);
}

template <typename Field>
void fields(const Tensor& m, Field&& field) {
  field("name", m.name);
  field("unit", m.unit);
  field("shape", m.shape);
  field("values", m.values);
}

template <typename Field>
void fields(const ModelOutput& m, Field&& field) {
  field("model", m.model);
  field("planDigest", m.plan_digest);
  field("frameId", m.frame_id);
  field("exposureStartNs", m.exposure_start_ns);
  field("runNs", m.run_ns);
  field("ageNs", m.age_ns);
  field("late", m.late);
  field("framesSkipped", m.frames_skipped);
  field("outputs", m.outputs);
}

template <typename Field>
void fields(const DriverState& m, Field&& field) {
  field("frameId", m.frame_id);
  field("exposureStartNs", m.exposure_start_ns);
  field("faceProbability", m.face_probability);
  field("facePitchRad", m.face_pitch_rad);
  field("faceYawRad", m.face_yaw_rad);
  field("faceRollRad", m.face_roll_rad);
  field("faceX", m.face_x);
  field("faceY", m.face_y);
  field("leftEyeProbability", m.left_eye_probability);
  field("rightEyeProbability", m.right_eye_probability);
  field("leftBlinkProbability", m.left_blink_probability);
  field("rightBlinkProbability", m.right_blink_probability);
  field("sunglassesProbability", m.sunglasses_probability);
  field("poorVisionProbability", m.poor_vision_probability);
  field("distractedProbability", m.distracted_probability);
}

template <typename Field>
void fields(const Controls& m, Field&& field) {
  field("engaged", m.engaged);
  field("steeringAngleRad", m.steering_angle_rad);
  field("curvaturePerM", m.curvature_per_m);
  field("accelerationMps2", m.acceleration_mps2);
  field("brake", m.brake);
  field("leftBlinker", m.left_blinker);
  field("rightBlinker", m.right_blinker);
  field("modelFrameId", m.model_frame_id);
  field("modelAgeNs", m.model_age_ns);
  field("alert", m.alert);
}

template <typename Field>
void fields(const VehicleState& m, Field&& field) {
  field("speedMps", m.speed_mps);
  field("accelerationMps2", m.acceleration_mps2);
  field("yawRateRadps", m.yaw_rate_radps);
  field("steeringAngleRad", m.steering_angle_rad);
  field("steeringTorqueNm", m.steering_torque_nm);
  field("gas", m.gas);
  field("brake", m.brake);
  field("gear", m.gear);
  field("standstill", m.standstill);
  field("leftBlinker", m.left_blinker);
  field("rightBlinker", m.right_blinker);
  field("faults", m.faults);
}

template <typename Field>
void fields(const LoggedService& m, Field&& field) {
  field("name", m.name);
  field("schema", m.schema);
  field("rateHz", m.rate_hz);
  field("logDecimation", m.log_decimation);
}

template <typename Field>
void fields(const LogHeader& m, Field&& field) {
  field("driveId", m.drive_id);
  field("program", m.program);
  field("device", m.device);
  field("startWallTimeNs", m.start_wall_time_ns);
  field("startMonoTimeNs", m.start_mono_time_ns);
  field("planDigests", m.plan_digests);
  field("services", m.services);
}

template <typename Field>
void fields(const LateService& m, Field&& field) {
  field("name", m.name);
  field("lateByNs", m.late_by_ns);
  field("sinceNs", m.since_ns);
}

template <typename Field>
void fields(const Health& m, Field&& field) {
  field("process", m.process);
  field("state", m.state);
  field("reason", m.reason);
  field("upNs", m.up_ns);
  field("cpu", m.cpu);
  field("memoryBytes", m.memory_bytes);
  field("deadlinesMissed", m.deadlines_missed);
  field("framesSkipped", m.frames_skipped);
  field("lateServices", m.late_services);
  field("temperatureC", m.temperature_c);
}

template <typename Field>
void fields(const std::monostate&, Field&&) {}

}  // namespace camshaft::schema
