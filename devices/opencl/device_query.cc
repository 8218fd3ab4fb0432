// SPDX-License-Identifier: MIT
#include "devices/opencl/device_query.h"

namespace camshaft::opencl {

std::string device_text(const Api& api, cl_device_id device, cl_device_info what) {
  size_t size_bytes = 0;
  if (api.clGetDeviceInfo(device, what, 0, nullptr, &size_bytes) != CL_SUCCESS) return "";
  std::string text(size_bytes, '\0');
  if (api.clGetDeviceInfo(device, what, size_bytes, text.data(), nullptr) != CL_SUCCESS) return "";
  return text.c_str();
}

bool has_word(std::string_view words, std::string_view word) {
  for (size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' '))
      return true;
  }
  return false;
}

}  // namespace camshaft::opencl
