// SPDX-License-Identifier: MIT
#include "codegen/render/host.h"
#include "codegen/render/process.h"
#include "codegen/render/toolchain.h"

namespace camshaft::render {

namespace {

// The word in quotes that follows `key`, and where it ends; empty at the end of the text.
std::string quoted_after(const std::string& text, const std::string& key, size_t* position) {
  const size_t found = text.find(key, *position);
  if (found == std::string::npos) return "";
  const size_t begin = found + key.size();
  const size_t end = text.find('"', begin);
  if (end == std::string::npos) return "";
  *position = end + 1;
  return text.substr(begin, end - begin);
}

}  // namespace

base::Result<HostCpu> detect_host_cpu() {
  CAMSHAFT_TRY_ASSIGN(const std::string clang, find_clang());
#if defined(__x86_64__)
  const std::string native = "-march=native";
#else
  const std::string native = "-mcpu=native";
#endif
  CAMSHAFT_TRY_ASSIGN(
      const ProcessResult shown,
      run_process({clang, native, "-###", "-x", "c", "-c", "/dev/null", "-o", "/dev/null"}));
  HostCpu host;
  size_t position = 0;
  host.march = quoted_after(shown.output, "\"-target-cpu\" \"", &position);
  position = 0;
  for (;;) {
    const std::string word = quoted_after(shown.output, "\"-target-feature\" \"", &position);
    if (word.empty()) break;
    if (word[0] == '+') host.features.push_back(word.substr(1));
  }
  if (shown.exit_code != 0 || host.march.empty()) {
    return base::fail(base::Code::kIo, "render.host_cpu",
                      "%s does not say what this machine's CPU is; name it, as in cpu:x86-64-v3",
                      clang.c_str());
  }
  return host;
}

}  // namespace camshaft::render
