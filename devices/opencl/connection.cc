// SPDX-License-Identifier: MIT
#include "devices/opencl/connection.h"

namespace camshaft::opencl {

base::Status no_such_device(const Api& api, uint32_t index, size_t present) {
  return base::fail(base::Code::kWrongTarget, "opencl.index",
                    "there is no OpenCL device %u: the platforms of this machine (%s) have %zu; "
                    "install the device's driver, whose name goes into /etc/OpenCL/vendors",
                    index, platform_names(api).c_str(), present);
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
