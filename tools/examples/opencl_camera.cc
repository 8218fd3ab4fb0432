// SPDX-License-Identifier: MIT
// Two cameras' frames in an application's own OpenCL context, read in place by a plan:
//
//   opencl_camera [--plan PLAN] [--model ONNX] [--camshaft COMMAND] [--device N] [--frame FILE]
//                 [--picture FILE] [--output FILE] [--trace]
//
// 1. The application has a context, a queue and two rings, as camera drivers fill them: NV12
//    buffers of 1928x1208 pixels in rows of 2048 bytes, chroma from row 1216 on, and RGBA images of
//    964x604.
// 2. It opens a device on its queue, and a session on the device, and imports each buffer and each
//    image, once.
// 3. For each frame it binds the frame's buffer and image, and runs. The plan's first kernel cuts
//    the pixels out of both (tools/examples/camera_model.py); nothing is copied, allocated or made.
// 4. It changes one pixel, with a command of its own in the same queue, and runs again: the answer
//    is another one. First in a buffer, then in an image.
//
// It ends with 0 if the trace of the device's calls shows no copy and, after the first frame,
// nothing but submits and waits, and if both pixels were seen.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "devices/hal/trace.h"
#include "devices/opencl/api.h"
#include "devices/registry.h"
#include "runtime/base/log_ring.h"
#include "runtime/session/session.h"

namespace {

using namespace camshaft;

constexpr int kWidth = 1928;
constexpr int kHeight = 1208;
constexpr size_t kStride = 2048;
constexpr size_t kChromaRow = 1216;
constexpr size_t kFrameBytes = kStride * 1834;  // the camera's: whole pages
constexpr int kPictureWidth = 964;
constexpr int kPictureHeight = 604;
constexpr size_t kPictureBytes = size_t{kPictureWidth} * kPictureHeight * 4;
constexpr uint32_t kRing = 4;
constexpr uint32_t kFrames = 100;

struct Options {
  std::string plan;
  std::string model = "tools/examples/camera.onnx";
  std::string command = "build/camshaft";
  std::string frame;
  std::string picture;
  std::string output;
  uint32_t device = 0;
  bool trace = false;
};

// Failures carry the sentence that the library wrote where they were born.
void check(const base::Status& status) {
  if (status.is_ok()) return;
  const uint64_t newest = base::log_sequence();
  const auto lines = base::log_lines_after(newest == 0 ? 0 : newest - 1);
  throw std::runtime_error(lines.empty() ? base::code_name(status.code()) : lines.back().text);
}
template <typename T>
T check(base::Result<T> result) {
  check(result.error());
  return std::move(*result);
}

// What the application has before Camshaft comes into it. A real one links an OpenCL library.
class Application {
 public:
  explicit Application(uint32_t index) : cl_(*check(opencl::system_api())) {
    std::vector<cl_device_id> all;
    cl_platform_id platforms[16];
    cl_uint platform_count = 0;
    cl_.clGetPlatformIDs(16, platforms, &platform_count);
    for (cl_uint i = 0; i < std::min<cl_uint>(platform_count, 16); ++i) {
      cl_device_id found[16];
      cl_uint count = 0;
      if (cl_.clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 16, found, &count) == CL_SUCCESS) {
        all.insert(all.end(), found, found + std::min<cl_uint>(count, 16));
      }
    }
    if (index >= all.size()) throw std::runtime_error("there is no such OpenCL device");
    device_ = all[index];
    cl_int error = CL_SUCCESS;
    context_ = cl_.clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &error);
    if (error == CL_SUCCESS) queue_ = cl_.clCreateCommandQueue(context_, device_, 0, &error);
    must(error, "make a queue");
    for (cl_mem& frame : frames_) frame = make_buffer(kFrameBytes);
    for (cl_mem& picture : pictures_) picture = make_picture();
    staging_ = make_buffer(kPictureBytes);
  }
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;
  ~Application() {
    for (const cl_mem frame : frames_) cl_.clReleaseMemObject(frame);
    for (const cl_mem picture : pictures_) cl_.clReleaseMemObject(picture);
    cl_.clReleaseMemObject(staging_);
    cl_.clReleaseCommandQueue(queue_);
    cl_.clReleaseContext(context_);
  }

  hal::CallerQueue queue() const {
    return {.context = context_, .device = device_, .queue = queue_};
  }
  cl_mem frame(uint32_t index) const { return frames_[index]; }
  cl_mem picture(uint32_t index) const { return pictures_[index]; }

  // What the cameras do.
  void fill_frame(uint32_t index, const std::vector<uint8_t>& bytes) const {
    must(cl_.clEnqueueWriteBuffer(queue_, frames_[index], CL_TRUE, 0, bytes.size(), bytes.data(), 0,
                                  nullptr, nullptr),
         "fill a buffer");
  }
  void fill_picture(uint32_t index, const std::vector<uint8_t>& bytes) const {
    must(cl_.clEnqueueWriteBuffer(queue_, staging_, CL_TRUE, 0, bytes.size(), bytes.data(), 0,
                                  nullptr, nullptr),
         "fill a buffer");
    copy_texels(index, 0, 0, kPictureWidth, kPictureHeight);
  }
  // Commands of the application's own, which the next run comes after: the pixel in the middle.
  void blacken_frame(uint32_t index) const {
    const uint8_t black = 0;
    must(cl_.clEnqueueFillBuffer(queue_, frames_[index], &black, 1, kStride * 604 + 964, 1, 0,
                                 nullptr, nullptr),
         "change a pixel");
  }
  void blacken_picture(uint32_t index) const {
    const uint8_t black = 0;
    must(cl_.clEnqueueFillBuffer(queue_, staging_, &black, 1, 0, 4, 0, nullptr, nullptr),
         "change a pixel");
    copy_texels(index, kPictureWidth / 2, kPictureHeight / 2, 1, 1);
  }
  // How many hold an object: one, before it is imported and after the session is gone.
  cl_uint holders(cl_mem object) const {
    cl_uint count = 0;
    must(cl_.clGetMemObjectInfo(object, CL_MEM_REFERENCE_COUNT, sizeof count, &count, nullptr),
         "ask an object");
    return count;
  }

 private:
  static void must(cl_int error, const char* what) {
    if (error == CL_SUCCESS) return;
    throw std::runtime_error(std::string("the application can't ") + what + ": " +
                             opencl::error_name(error));
  }
  cl_mem make_buffer(size_t size_bytes) const {
    cl_int error = CL_SUCCESS;
    const cl_mem made = cl_.clCreateBuffer(context_, CL_MEM_READ_ONLY, size_bytes, nullptr, &error);
    must(error, "make a buffer");
    return made;
  }
  cl_mem make_picture() const {
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    cl_image_desc description = {};
    description.image_type = CL_MEM_OBJECT_IMAGE2D;
    description.image_width = kPictureWidth;
    description.image_height = kPictureHeight;
    cl_int error = CL_SUCCESS;
    const cl_mem made =
        cl_.clCreateImage(context_, CL_MEM_READ_ONLY, &format, &description, nullptr, &error);
    must(error, "make an image");
    return made;
  }
  void copy_texels(uint32_t index, size_t x, size_t y, size_t width, size_t height) const {
    const size_t origin[3] = {x, y, 0};
    const size_t region[3] = {width, height, 1};
    must(cl_.clEnqueueCopyBufferToImage(queue_, staging_, pictures_[index], 0, origin, region, 0,
                                        nullptr, nullptr),
         "fill an image");
  }

  const opencl::Api& cl_;
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_mem frames_[kRing] = {};
  cl_mem pictures_[kRing] = {};
  cl_mem staging_ = nullptr;  // of pictures
};

// A picture of slopes and edges, brighter from frame to frame; what is not a pixel is 255.
std::vector<uint8_t> draw_frame(uint32_t number) {
  std::vector<uint8_t> frame(kFrameBytes, 255);
  for (size_t y = 0; y < kHeight; ++y) {
    for (size_t x = 0; x < kWidth; ++x) {
      const size_t edge = (x / 96 + y / 64) % 2 * 60;
      frame[y * kStride + x] = static_cast<uint8_t>(16 + x / 16 + edge + number * 4);
    }
  }
  for (size_t y = 0; y < kHeight / 2; ++y) {
    for (size_t x = 0; x < kWidth / 2; ++x) {
      uint8_t* uv = &frame[(kChromaRow + y) * kStride + 2 * x];
      uv[0] = static_cast<uint8_t>(64 + y / 8);
      uv[1] = static_cast<uint8_t>(192 - x / 16);
    }
  }
  return frame;
}

std::vector<uint8_t> draw_picture(uint32_t number) {
  std::vector<uint8_t> picture(kPictureBytes);
  for (size_t i = 0; i < picture.size(); ++i) {
    const size_t x = i / 4 % kPictureWidth;
    const size_t y = i / 4 / kPictureWidth;
    picture[i] = static_cast<uint8_t>(32 + x / 8 + y / 16 * (i % 4) + number * 3);
  }
  return picture;
}

std::vector<uint8_t> read_bytes(const std::string& path, size_t size_bytes) {
  std::ifstream file(path, std::ios::binary);
  std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.size() == size_bytes) return bytes;
  throw std::runtime_error(path + " has " + std::to_string(bytes.size()) + " bytes, not " +
                           std::to_string(size_bytes));
}

// Compiles the model where no plan is given, as a deployer does beforehand.
plan::PlanFile open_plan(const Options& options) {
  if (!options.plan.empty()) return check(plan::PlanFile::open(options.plan, {}));
  const std::string path =
      std::filesystem::temp_directory_path() / ("opencl_camera." + std::to_string(getpid()));
  const std::string command = "'" + options.command + "' compile '" + options.model +
                              "' --target opencl --image-input picture -o '" + path +
                              "' > /dev/null";
  if (std::system(command.c_str()) != 0) {
    throw std::runtime_error("the model can't be compiled: " + command);
  }
  plan::PlanFile plan = check(plan::PlanFile::open(path, {}));
  std::filesystem::remove(path);  // what is mapped stays
  return plan;
}

using Answer = std::vector<float>;

// The rings, as the session knows them.
class Perception {
 public:
  Perception(session::Session& session, const Application& application)
      : session_(session),
        frame_(check(session.input_index("frame"))),
        picture_(check(session.input_index("picture"))) {
    for (uint32_t i = 0; i < kRing; ++i) {
      frames_[i] = import_frame(application.frame(i));
      pictures_[i] = import_picture(application.picture(i));
    }
  }

  // The hot path.
  base::Bytes run(uint32_t slot) {
    check(session_.bind_input(frame_, frames_[slot]));
    check(session_.bind_input(picture_, pictures_[slot]));
    check(session_.run({}).error());
    return check(session_.output(0));
  }
  Answer answer(uint32_t slot) {
    const base::Bytes bytes = run(slot);
    Answer values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  const uint32_t& released() const { return released_; }

 private:
  hal::Buffer import(hal::ForeignMemory memory, cl_mem object) {
    memory.handle = reinterpret_cast<uint64_t>(object);
    memory.on_release = [](void* count) { ++*static_cast<uint32_t*>(count); };
    memory.release_context = &released_;
    return check(session_.import_memory(memory));
  }
  hal::Buffer import_frame(cl_mem buffer) {
    hal::ForeignMemory memory;
    memory.kind = hal::ForeignKind::kClBuffer;
    memory.size_bytes = kFrameBytes;
    memory.row_pitch_bytes = kStride;  // checked against the model's input
    return import(memory, buffer);
  }
  hal::Buffer import_picture(cl_mem image) {
    hal::ForeignMemory memory;
    memory.kind = hal::ForeignKind::kClImage;
    memory.image = {.dtype = base::DType::kUInt8, .width = kPictureWidth, .height = kPictureHeight};
    return import(memory, image);
  }

  session::Session& session_;
  uint32_t frame_;
  uint32_t picture_;
  hal::Buffer frames_[kRing];
  hal::Buffer pictures_[kRing];
  uint32_t released_ = 0;
};

double largest_change(const Answer& before, const Answer& after) {
  float largest = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    largest = std::max(largest, std::abs(after[i] - before[i]));
  }
  return static_cast<double>(largest);
}

// What the trace shows. False if there is a copy, or anything but runs after call number `loaded`.
bool is_in_place(const hal::TraceDevice& device, uint64_t loaded) {
  uint64_t copies = 0;
  uint64_t runs = 0;
  uint64_t others = 0;
  for (const hal::TraceEntry& entry : device.entries()) {
    copies += entry.copies;
    if (entry.sequence <= loaded) continue;
    const bool is_run = entry.call == hal::Call::kSubmit || entry.call == hal::Call::kWait;
    (is_run ? runs : others) += 1;
  }
  std::printf(
      "trace: %llu copies; after the first frame %llu submits and waits, %llu other calls\n",
      static_cast<unsigned long long>(copies), static_cast<unsigned long long>(runs),
      static_cast<unsigned long long>(others));
  return copies == 0 && others == 0 && runs > 0;
}

bool run_frames(const Options& options, const Application& application, hal::TraceDevice& device,
                Perception& perception) {
  perception.run(0);
  const uint64_t loaded = device.entries().back().sequence;
  for (uint32_t i = 0; i < kFrames; ++i) perception.run(i % kRing);
  const Answer before = perception.answer(1);
  if (!options.output.empty()) {
    std::ofstream(options.output, std::ios::binary)
        .write(reinterpret_cast<const char*>(before.data()),
               static_cast<std::streamsize>(before.size() * sizeof(float)));
  }
  const Answer again = perception.answer(1);
  application.blacken_frame(1);
  const Answer frame = perception.answer(1);
  application.blacken_picture(1);
  const Answer both = perception.answer(1);
  std::printf(
      "the same frame again changes the answer by %g, a black pixel of the buffer by %g, "
      "one of the image by %g\n",
      largest_change(before, again), largest_change(again, frame), largest_change(frame, both));
  const bool in_place = is_in_place(device, loaded);
  if (options.trace) std::printf("%s", device.to_text().c_str());
  return in_place && before == again && again != frame && frame != both;
}

int run(const Options& options) {
  const Application application(options.device);
  for (uint32_t i = 0; i < kRing; ++i) {
    application.fill_frame(
        i, options.frame.empty() ? draw_frame(i) : read_bytes(options.frame, kFrameBytes));
    application.fill_picture(
        i, options.picture.empty() ? draw_picture(i) : read_bytes(options.picture, kPictureBytes));
  }
  const plan::PlanFile plan = open_plan(options);
  hal::TraceDevice device(
      check(hal::open_device_on(devices::backends(), "opencl", application.queue(), {})), 1000);
  std::printf("%s\n%u buffers of %zu bytes, %u images of %d x %d texels\n", device.info().name,
              kRing, kFrameBytes, kRing, kPictureWidth, kPictureHeight);
  auto session = check(session::Session::open(plan, device, {}));
  Perception perception(*session, application);
  bool good = run_frames(options, application, device, perception);
  session.reset();
  std::printf("session closed: %u buffers and images given back\n", perception.released());
  good = good && perception.released() == 2 * kRing;
  for (uint32_t i = 0; i < kRing; ++i) {
    good = good && application.holders(application.frame(i)) == 1 &&
           application.holders(application.picture(i)) == 1;
  }
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Runs a plan on an application's own camera buffers, in place.");
  app.add_option("--plan", options.plan, "a compiled plan; otherwise the model is compiled");
  app.add_option("--model", options.model, "the ONNX model")->capture_default_str();
  app.add_option("--camshaft", options.command, "the camshaft command")->capture_default_str();
  app.add_option("--device", options.device, "number of the OpenCL device");
  app.add_option("--frame", options.frame, "an NV12 buffer's bytes, instead of a drawn picture");
  app.add_option("--picture", options.picture, "the same of an image's RGBA bytes");
  app.add_option("--output", options.output, "where to write the answer for them (f32)");
  app.add_flag("--trace", options.trace, "print every call of the device");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "opencl_camera: %s\n", error.what());
    return 2;
  }
}
