// SPDX-License-Identifier: MIT
#include "tools/command/dump_files_desktop.h"

#include <algorithm>
#include <filesystem>

#include "runtime/base/file.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

std::string file_name(size_t number, const std::string& title) {
  std::string name = format_text("%02zu-", number) + title + ".txt";
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c) && c != '.'; }, '-');
  return name;
}

}  // namespace

base::Status write_representations(const std::string& folder,
                                   const std::vector<Representation>& representations) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return base::fail(base::Code::kIo, "compile.dump", "the folder %s can't be made: %s",
                      folder.c_str(), error.message().c_str());
  }
  for (size_t i = 0; i < representations.size(); ++i) {
    CAMSHAFT_TRY(base::write_file_atomically(folder + "/" + file_name(i, representations[i].title),
                                             base::as_bytes(representations[i].text)));
  }
  return base::ok();
}

std::string select_representation(const std::string& kind,
                                  const std::vector<Representation>& representations) {
  std::string selected;
  for (const Representation& representation : representations) {
    if (!representation.title.starts_with(kind)) continue;
    if (kind == "graph") selected.clear();
    selected += representation.text;
  }
  return selected;
}

}  // namespace camshaft::command
