// SPDX-License-Identifier: MIT
#include "tools/bridge/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include "runtime/base/file.h"

namespace camshaft::bridge {
namespace {

using base::Code;

constexpr uint64_t kMostBytes = 1 << 20;

base::Result<std::vector<std::string>> read_lines(const std::string& path) {
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, base::read_file(path, kMostBytes));
  std::istringstream text{std::string(base::as_text(bytes))};
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  }
  return lines;
}

}  // namespace

base::Status write_keys(const std::string& path, const KeyPair& keys) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    return base::fail_errno(Code::kInvalidArgument, "bridge.keys", errno,
                            "can't make the key file %s", path.c_str());
  }
  const std::string text = "public " + keys.public_key + "\nsecret " + keys.secret_key + "\n";
  const bool is_written =
      ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool is_whole = ::fsync(fd) == 0 && is_written;
  ::close(fd);
  if (is_whole) return base::ok();
  return base::fail(Code::kIo, "bridge.keys", "can't write the key file %s", path.c_str());
}

base::Result<KeyPair> read_keys(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0 && (info.st_mode & 0077) != 0) {
    return base::fail(Code::kInvalidArgument, "bridge.keys",
                      "others may read the secret key in %s: chmod 600 it, or make new keys",
                      path.c_str());
  }
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::string> lines, read_lines(path));
  KeyPair keys;
  for (const std::string& line : lines) {
    if (line.starts_with("public ")) keys.public_key = line.substr(7);
    if (line.starts_with("secret ")) keys.secret_key = line.substr(7);
  }
  CAMSHAFT_TRY(check_key(keys.public_key, ("'public' in " + path).c_str()));
  CAMSHAFT_TRY(check_key(keys.secret_key, ("'secret' in " + path).c_str()));
  return keys;
}

base::Result<std::vector<std::string>> read_allowed(const std::string& path) {
  CAMSHAFT_TRY_ASSIGN(std::vector<std::string> keys, read_lines(path));
  for (const std::string& key : keys) CAMSHAFT_TRY(check_key(key, ("a line of " + path).c_str()));
  return keys;
}

}  // namespace camshaft::bridge
