// SPDX-License-Identifier: MIT
// Built with exceptions: Cap'n Proto throws on malformed messages, from any getter.
//
// A message may alias one object from many pointers, or claim lists of empty elements that are
// large once copied. Two budgets bound the copy: Cap'n Proto's traversal limit bounds text and
// numbers, and Decoder's the elements, of which a message of Encoder's has at most one a word or
// number.
#include "msgq/schema/codec.h"

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <cstring>
#include <exception>
#include <utility>

#include "msgq/schema/messages.capnp.h"

namespace camshaft::schema {
namespace {

constexpr int kNestingLimit = 8;  // Message has 4 levels
constexpr size_t kFramingWords = 1;
constexpr size_t kFirstWords = 512;
constexpr size_t kMostWords = size_t{1} << 27;

static_assert(static_cast<size_t>(wire::Message::NONE) == 0 &&
              static_cast<size_t>(wire::Message::HEALTH) + 1 == std::variant_size_v<Body>);

// --- Reading
// --------------------------------------------------------------------------------------

class Decoder {
 public:
  explicit Decoder(uint64_t elements) : elements_left_(elements) {}

  void decode(wire::Message::Reader from, Message& to) {
    text(from.getService(), to.service);
    to.mono_time_ns = from.getMonoTimeNs();
    to.valid = from.getValid();
    text(from.getReason(), to.reason);
    switch (from.which()) {
      case wire::Message::CAMERA_STATE:
        return decode(from.getCameraState(), body<CameraState>(to));
      case wire::Message::MODEL_OUTPUT:
        return decode(from.getModelOutput(), body<ModelOutput>(to));
      case wire::Message::DRIVER_STATE:
        return decode(from.getDriverState(), body<DriverState>(to));
      case wire::Message::CONTROLS:
        return decode(from.getControls(), body<Controls>(to));
      case wire::Message::VEHICLE_STATE:
        return decode(from.getVehicleState(), body<VehicleState>(to));
      case wire::Message::LOG_HEADER:
        return decode(from.getLogHeader(), body<LogHeader>(to));
      case wire::Message::HEALTH:
        return decode(from.getHealth(), body<Health>(to));
      case wire::Message::NONE:
        break;
    }
    to.body.emplace<std::monostate>();
  }

 private:
  // The alternative T of the body, with the memory that it already has.
  template <typename T>
  static T& body(Message& to) {
    T* const kept = std::get_if<T>(&to.body);
    return kept != nullptr ? *kept : to.body.emplace<T>();
  }

  static void text(capnp::Text::Reader from, std::string& to) {
    to.assign(from.cStr(), from.size());
  }

  template <typename Reader>
  uint32_t count(const Reader& list) {
    KJ_REQUIRE(list.size() <= elements_left_, "lists have more elements than there are numbers");
    elements_left_ -= list.size();
    return list.size();
  }

  template <typename Reader, typename T>
  void decode_list(const Reader& from, std::vector<T>& to) {
    to.resize(count(from));
    for (uint32_t i = 0; i < to.size(); ++i) decode(from[i], to[i]);
  }

  template <typename T>
  void decode_numbers(typename capnp::List<T>::Reader from, std::vector<T>& to) {
    to.resize(count(from));
    for (uint32_t i = 0; i < to.size(); ++i) to[i] = from[i];
  }

  void decode(capnp::Text::Reader from, std::string& to) { text(from, to); }

  void decode(wire::CameraState::Reader from, CameraState& to) {
    text(from.getCamera(), to.camera);
    to.frame_id = from.getFrameId();
    to.exposure_start_ns = from.getExposureStartNs();
    to.exposure_end_ns = from.getExposureEndNs();
    to.exposure_s = from.getExposureS();
    to.gain = from.getGain();
    to.width = from.getWidth();
    to.height = from.getHeight();
    to.format = from.getFormat();
    to.pool_id = from.getPoolId();
    to.slot = from.getSlot();
    to.sequence = from.getSequence();
    to.frames_skipped = from.getFramesSkipped();
    to.frames_starved = from.getFramesStarved();
    to.temperature_c = from.getTemperatureC();
  }

  void decode(wire::Tensor::Reader from, Tensor& to) {
    text(from.getName(), to.name);
    text(from.getUnit(), to.unit);
    decode_numbers(from.getShape(), to.shape);
    decode_numbers(from.getValues(), to.values);
  }

  void decode(wire::ModelOutput::Reader from, ModelOutput& to) {
    text(from.getModel(), to.model);
    text(from.getPlanDigest(), to.plan_digest);
    to.frame_id = from.getFrameId();
    to.exposure_start_ns = from.getExposureStartNs();
    to.run_ns = from.getRunNs();
    to.age_ns = from.getAgeNs();
    to.late = from.getLate();
    to.frames_skipped = from.getFramesSkipped();
    decode_list(from.getOutputs(), to.outputs);
  }

  void decode(wire::DriverState::Reader from, DriverState& to) {
    to.frame_id = from.getFrameId();
    to.exposure_start_ns = from.getExposureStartNs();
    to.face_probability = from.getFaceProbability();
    to.face_pitch_rad = from.getFacePitchRad();
    to.face_yaw_rad = from.getFaceYawRad();
    to.face_roll_rad = from.getFaceRollRad();
    to.face_x = from.getFaceX();
    to.face_y = from.getFaceY();
    to.left_eye_probability = from.getLeftEyeProbability();
    to.right_eye_probability = from.getRightEyeProbability();
    to.left_blink_probability = from.getLeftBlinkProbability();
    to.right_blink_probability = from.getRightBlinkProbability();
    to.sunglasses_probability = from.getSunglassesProbability();
    to.poor_vision_probability = from.getPoorVisionProbability();
    to.distracted_probability = from.getDistractedProbability();
  }

  void decode(wire::Controls::Reader from, Controls& to) {
    to.engaged = from.getEngaged();
    to.steering_angle_rad = from.getSteeringAngleRad();
    to.curvature_per_m = from.getCurvaturePerM();
    to.acceleration_mps2 = from.getAccelerationMps2();
    to.brake = from.getBrake();
    to.left_blinker = from.getLeftBlinker();
    to.right_blinker = from.getRightBlinker();
    to.model_frame_id = from.getModelFrameId();
    to.model_age_ns = from.getModelAgeNs();
    text(from.getAlert(), to.alert);
  }

  void decode(wire::VehicleState::Reader from, VehicleState& to) {
    to.speed_mps = from.getSpeedMps();
    to.acceleration_mps2 = from.getAccelerationMps2();
    to.yaw_rate_radps = from.getYawRateRadps();
    to.steering_angle_rad = from.getSteeringAngleRad();
    to.steering_torque_nm = from.getSteeringTorqueNm();
    to.gas = from.getGas();
    to.brake = from.getBrake();
    to.gear = static_cast<Gear>(from.getGear());
    to.standstill = from.getStandstill();
    to.left_blinker = from.getLeftBlinker();
    to.right_blinker = from.getRightBlinker();
    decode_list(from.getFaults(), to.faults);
  }

  void decode(wire::LoggedService::Reader from, LoggedService& to) {
    text(from.getName(), to.name);
    text(from.getSchema(), to.schema);
    to.rate_hz = from.getRateHz();
    to.log_decimation = from.getLogDecimation();
  }

  void decode(wire::LogHeader::Reader from, LogHeader& to) {
    text(from.getDriveId(), to.drive_id);
    text(from.getProgram(), to.program);
    text(from.getDevice(), to.device);
    to.start_wall_time_ns = from.getStartWallTimeNs();
    to.start_mono_time_ns = from.getStartMonoTimeNs();
    decode_list(from.getPlanDigests(), to.plan_digests);
    decode_list(from.getServices(), to.services);
  }

  void decode(wire::LateService::Reader from, LateService& to) {
    text(from.getName(), to.name);
    to.late_by_ns = from.getLateByNs();
    to.since_ns = from.getSinceNs();
  }

  void decode(wire::Health::Reader from, Health& to) {
    text(from.getProcess(), to.process);
    to.state = static_cast<HealthState>(from.getState());
    text(from.getReason(), to.reason);
    to.up_ns = from.getUpNs();
    to.cpu = from.getCpu();
    to.memory_bytes = from.getMemoryBytes();
    to.deadlines_missed = from.getDeadlinesMissed();
    to.frames_skipped = from.getFramesSkipped();
    decode_list(from.getLateServices(), to.late_services);
    to.temperature_c = from.getTemperatureC();
  }

  uint64_t elements_left_;
};

// --- Writing
// --------------------------------------------------------------------------------------

template <typename T, typename Builder>
void encode_list(const std::vector<T>& from, Builder to);

// With its length: kj would end a std::string at its first zero.
capnp::Text::Reader text(const std::string& from) {
  return {from.c_str(), from.size()};
}

template <typename T>
void encode_numbers(const std::vector<T>& from, typename capnp::List<T>::Builder to) {
  for (uint32_t i = 0; i < from.size(); ++i) to.set(i, from[i]);
}

void encode_texts(const std::vector<std::string>& from, capnp::List<capnp::Text>::Builder to) {
  for (uint32_t i = 0; i < from.size(); ++i) to.set(i, text(from[i]));
}

void encode(const CameraState& from, wire::CameraState::Builder to) {
  to.setCamera(text(from.camera));
  to.setFrameId(from.frame_id);
  to.setExposureStartNs(from.exposure_start_ns);
  to.setExposureEndNs(from.exposure_end_ns);
  to.setExposureS(from.exposure_s);
  to.setGain(from.gain);
  to.setWidth(from.width);
  to.setHeight(from.height);
  to.setFormat(from.format);
  to.setPoolId(from.pool_id);
  to.setSlot(from.slot);
  to.setSequence(from.sequence);
  to.setFramesSkipped(from.frames_skipped);
  to.setFramesStarved(from.frames_starved);
  to.setTemperatureC(from.temperature_c);
}

void encode(const Tensor& from, wire::Tensor::Builder to) {
  to.setName(text(from.name));
  to.setUnit(text(from.unit));
  encode_numbers(from.shape, to.initShape(from.shape.size()));
  encode_numbers(from.values, to.initValues(from.values.size()));
}

void encode(const ModelOutput& from, wire::ModelOutput::Builder to) {
  to.setModel(text(from.model));
  to.setPlanDigest(text(from.plan_digest));
  to.setFrameId(from.frame_id);
  to.setExposureStartNs(from.exposure_start_ns);
  to.setRunNs(from.run_ns);
  to.setAgeNs(from.age_ns);
  to.setLate(from.late);
  to.setFramesSkipped(from.frames_skipped);
  encode_list(from.outputs, to.initOutputs(from.outputs.size()));
}

void encode(const DriverState& from, wire::DriverState::Builder to) {
  to.setFrameId(from.frame_id);
  to.setExposureStartNs(from.exposure_start_ns);
  to.setFaceProbability(from.face_probability);
  to.setFacePitchRad(from.face_pitch_rad);
  to.setFaceYawRad(from.face_yaw_rad);
  to.setFaceRollRad(from.face_roll_rad);
  to.setFaceX(from.face_x);
  to.setFaceY(from.face_y);
  to.setLeftEyeProbability(from.left_eye_probability);
  to.setRightEyeProbability(from.right_eye_probability);
  to.setLeftBlinkProbability(from.left_blink_probability);
  to.setRightBlinkProbability(from.right_blink_probability);
  to.setSunglassesProbability(from.sunglasses_probability);
  to.setPoorVisionProbability(from.poor_vision_probability);
  to.setDistractedProbability(from.distracted_probability);
}

void encode(const Controls& from, wire::Controls::Builder to) {
  to.setEngaged(from.engaged);
  to.setSteeringAngleRad(from.steering_angle_rad);
  to.setCurvaturePerM(from.curvature_per_m);
  to.setAccelerationMps2(from.acceleration_mps2);
  to.setBrake(from.brake);
  to.setLeftBlinker(from.left_blinker);
  to.setRightBlinker(from.right_blinker);
  to.setModelFrameId(from.model_frame_id);
  to.setModelAgeNs(from.model_age_ns);
  to.setAlert(text(from.alert));
}

void encode(const VehicleState& from, wire::VehicleState::Builder to) {
  to.setSpeedMps(from.speed_mps);
  to.setAccelerationMps2(from.acceleration_mps2);
  to.setYawRateRadps(from.yaw_rate_radps);
  to.setSteeringAngleRad(from.steering_angle_rad);
  to.setSteeringTorqueNm(from.steering_torque_nm);
  to.setGas(from.gas);
  to.setBrake(from.brake);
  to.setGear(static_cast<wire::Gear>(from.gear));
  to.setStandstill(from.standstill);
  to.setLeftBlinker(from.left_blinker);
  to.setRightBlinker(from.right_blinker);
  encode_texts(from.faults, to.initFaults(from.faults.size()));
}

void encode(const LoggedService& from, wire::LoggedService::Builder to) {
  to.setName(text(from.name));
  to.setSchema(text(from.schema));
  to.setRateHz(from.rate_hz);
  to.setLogDecimation(from.log_decimation);
}

void encode(const LogHeader& from, wire::LogHeader::Builder to) {
  to.setDriveId(text(from.drive_id));
  to.setProgram(text(from.program));
  to.setDevice(text(from.device));
  to.setStartWallTimeNs(from.start_wall_time_ns);
  to.setStartMonoTimeNs(from.start_mono_time_ns);
  encode_texts(from.plan_digests, to.initPlanDigests(from.plan_digests.size()));
  encode_list(from.services, to.initServices(from.services.size()));
}

void encode(const LateService& from, wire::LateService::Builder to) {
  to.setName(text(from.name));
  to.setLateByNs(from.late_by_ns);
  to.setSinceNs(from.since_ns);
}

void encode(const Health& from, wire::Health::Builder to) {
  to.setProcess(text(from.process));
  to.setState(static_cast<wire::HealthState>(from.state));
  to.setReason(text(from.reason));
  to.setUpNs(from.up_ns);
  to.setCpu(from.cpu);
  to.setMemoryBytes(from.memory_bytes);
  to.setDeadlinesMissed(from.deadlines_missed);
  to.setFramesSkipped(from.frames_skipped);
  encode_list(from.late_services, to.initLateServices(from.late_services.size()));
  to.setTemperatureC(from.temperature_c);
}

template <typename T, typename Builder>
void encode_list(const std::vector<T>& from, Builder to) {
  for (uint32_t i = 0; i < from.size(); ++i) encode(from[i], to[i]);
}

struct BodyEncoder {
  wire::Message::Builder to;

  void operator()(const std::monostate&) { to.setNone(); }
  void operator()(const CameraState& body) { encode(body, to.initCameraState()); }
  void operator()(const ModelOutput& body) { encode(body, to.initModelOutput()); }
  void operator()(const DriverState& body) { encode(body, to.initDriverState()); }
  void operator()(const Controls& body) { encode(body, to.initControls()); }
  void operator()(const VehicleState& body) { encode(body, to.initVehicleState()); }
  void operator()(const LogHeader& body) { encode(body, to.initLogHeader()); }
  void operator()(const Health& body) { encode(body, to.initHealth()); }
};

void encode(const Message& from, wire::Message::Builder to) {
  to.setService(text(from.service));
  to.setMonoTimeNs(from.mono_time_ns);
  to.setValid(from.valid);
  to.setReason(text(from.reason));
  std::visit(BodyEncoder{to}, from.body);
}

// A message in one segment of given memory, behind room for the framing: readers of one segment
// need no far pointers and no table.
class OneSegment final : public capnp::MessageBuilder {
 public:
  // `used_words`: how many of `words` an earlier message has used; at last, how many this one has.
  OneSegment(std::span<uint64_t> words, size_t& used_words)
      : words_(words), used_words_(used_words) {
    std::memset(words.data(), 0, used_words * sizeof(uint64_t));
    used_words_ = words.size();
  }

  // False where the memory is too small.
  bool encode(const Message& message) {
    try {
      schema::encode(message, initRoot<wire::Message>());
    } catch (const Full&) {
      return false;
    }
    used_words_ = kFramingWords + getSegmentsForOutput()[0].size();
    return true;
  }

  kj::ArrayPtr<capnp::word> allocateSegment(unsigned least_words) override {
    const std::span<uint64_t> segment = words_.subspan(kFramingWords);
    if (std::exchange(is_given_, true) || segment.size() < least_words) throw Full();
    return {reinterpret_cast<capnp::word*>(segment.data()), segment.size()};
  }

 private:
  struct Full {};

  std::span<uint64_t> words_;
  size_t& used_words_;
  bool is_given_ = false;
};

}  // namespace

uint64_t schema_id(size_t body_index) noexcept {
  constexpr uint64_t kIds[] = {0,
                               capnp::typeId<wire::CameraState>(),
                               capnp::typeId<wire::ModelOutput>(),
                               capnp::typeId<wire::DriverState>(),
                               capnp::typeId<wire::Controls>(),
                               capnp::typeId<wire::VehicleState>(),
                               capnp::typeId<wire::LogHeader>(),
                               capnp::typeId<wire::Health>()};
  static_assert(std::size(kIds) == std::variant_size_v<Body>);
  return body_index < std::size(kIds) ? kIds[body_index] : 0;
}

base::Result<base::Bytes> Encoder::encode(const Message& message) noexcept {
  try {
    if (words_.empty()) words_.resize(kFirstWords);
    while (true) {
      OneSegment builder(words_, used_words_);
      if (builder.encode(message)) break;
      if (words_.size() >= kMostWords) throw std::bad_alloc();
      words_.resize(words_.size() * 2);
    }
    store_framing();
    return base::as_bytes(std::span<const uint64_t>(words_).first(used_words_));
  } catch (...) {
    return base::fail(base::Code::kOutOfMemory, "msgq.encode", "can't encode a message of '%s'",
                      message.service.c_str());
  }
}

// One segment: the number of segments less one, and its size in words, as u32.
void Encoder::store_framing() noexcept {
  words_[0] = static_cast<uint64_t>(used_words_ - kFramingWords) << 32;
}

base::Status decode(base::Bytes bytes, Message& message) noexcept {
  try {
    if (!base::is_aligned(reinterpret_cast<uintptr_t>(bytes.data()), sizeof(capnp::word))) {
      std::vector<uint64_t> copy((bytes.size() + 7) / 8);
      std::memcpy(copy.data(), bytes.data(), bytes.size());
      return decode(base::as_bytes(std::span<const uint64_t>(copy)).first(bytes.size()), message);
    }
    const kj::ArrayPtr<const capnp::word> words(reinterpret_cast<const capnp::word*>(bytes.data()),
                                                bytes.size() / sizeof(capnp::word));
    KJ_REQUIRE(words.size() >= kFramingWords && words.asBytes().size() == bytes.size());
    capnp::ReaderOptions limits;
    limits.traversalLimitInWords = words.size();
    limits.nestingLimit = kNestingLimit;
    capnp::FlatArrayMessageReader reader(words, limits);
    Decoder(words.size() * 2).decode(reader.getRoot<wire::Message>(), message);
    return base::ok();
  } catch (...) {
    // What kj's exceptions say quotes bytes of the message, which may be anything.
    return base::fail(base::Code::kCorrupt, "msgq.decode",
                      "%zu bytes are not a well-formed message: is the writer of this topic "
                      "another program?",
                      bytes.size());
  }
}

}  // namespace camshaft::schema
