// SPDX-License-Identifier: MIT
#include "devices/opencl/connection.h"

#include <cstdlib>
#include <string>

namespace camshaft::opencl {

namespace {

// Where loaders look for drivers instead of where they are installed, if the environment says so.
std::string redirection_text() {
  for (const char* name : {"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) return std::string(name) + " says '" + value + "'";
  }
  return "";
}

}  // namespace

base::Status no_such_device(const Api& api, uint32_t index, size_t present) {
  const std::string names = platform_names(api);
  if (present > 0) {
    return base::fail(base::Code::kWrongTarget, "opencl.index",
                      "there is no OpenCL device %u: the drivers of this machine (%s) have %zu, "
                      "and the first is 0",
                      index, names.c_str(), present);
  }
  if (!names.empty()) {
    return base::fail(base::Code::kWrongTarget, "opencl.devices",
                      "there is no OpenCL device: a driver is installed (%s) but gives none; see "
                      "that the machine has one that it is for, and that this user may open it",
                      names.c_str());
  }
  const std::string redirection = redirection_text();
  if (!redirection.empty()) {
    return base::fail(base::Code::kWrongTarget, "opencl.drivers",
                      "there is no OpenCL device: %.300s, and no driver is found that way; unset "
                      "it, or name a folder with the driver's .icd file",
                      redirection.c_str());
  }
  return base::fail(base::Code::kWrongTarget, "opencl.drivers",
                    "there is no OpenCL device: no driver is installed; install the device's, "
                    "whose name goes into /etc/OpenCL/vendors");
}

base::Result<Connection> connect(const Api& api, const FoundDevice& found) {
  Connection connection;
  cl_int error = CL_SUCCESS;
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(found.platform), 0};
  connection.context = Object<cl_context>(
      api.clCreateContext(properties, 1, &found.device, nullptr, nullptr, &error),
      api.clReleaseContext);
  if (error == CL_SUCCESS) {
    connection.queue = Object<cl_command_queue>(
        api.clCreateCommandQueue(connection.context.get(), found.device, 0, &error),
        api.clReleaseCommandQueue);
  }
  if (error == CL_SUCCESS) return connection;
  return base::fail(base::Code::kWrongTarget, "opencl.open",
                    "the OpenCL device %s can't be opened: %s", found.info.name, error_name(error));
}

base::Result<Connection> adopt(const Api& api, const hal::CallerQueue& caller) {
  auto* queue = static_cast<cl_command_queue>(caller.queue);
  cl_context context = nullptr;
  cl_device_id device = nullptr;
  cl_command_queue_properties properties = 0;
  const auto ask = [&](cl_command_queue_info what, auto* value) {
    return api.clGetCommandQueueInfo(queue, what, sizeof *value, value, nullptr) == CL_SUCCESS;
  };
  const bool is_known = queue != nullptr && ask(CL_QUEUE_CONTEXT, &context) &&
                        ask(CL_QUEUE_DEVICE, &device) && ask(CL_QUEUE_PROPERTIES, &properties);
  if (!is_known || context != caller.context || device != caller.device ||
      (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0) {
    return base::fail(
        base::Code::kInvalidArgument, "opencl.queue",
        "plans run in a queue of the given context and device that executes in order, "
        "and this one isn't: make one for them");
  }
  api.clRetainContext(context);
  api.clRetainCommandQueue(queue);
  return Connection{.context = Object<cl_context>(context, api.clReleaseContext),
                    .queue = Object<cl_command_queue>(queue, api.clReleaseCommandQueue),
                    .is_callers = true};
}

}  // namespace camshaft::opencl
