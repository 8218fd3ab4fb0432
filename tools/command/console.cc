// SPDX-License-Identifier: MIT
#include "tools/command/console.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "runtime/base/clock.h"
#include "runtime/base/log_ring.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

constexpr int64_t kProgressIntervalNs = 100'000'000;

}  // namespace

Console::Console(std::string verb, bool json)
    : verb_(std::move(verb)),
      program_(verb_.empty() ? "camshaft" : "camshaft " + verb_),
      json_(json),
      is_terminal_(isatty(STDERR_FILENO) != 0),
      log_start_(base::log_sequence()),
      notices_start_(log_start_) {}

bool Console::prints_to_terminal() const {
  return isatty(STDOUT_FILENO) != 0;
}

void Console::print(std::string_view text) {
  if (json_) return;
  clear_progress();
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void Console::note(const std::string& sentence) {
  clear_progress();
  notes_.push_back(printable(sentence));
  std::fprintf(stderr, "%s: note: %s\n", program_.c_str(), notes_.back().c_str());
}

void Console::progress(int step, int steps, const std::string& what) {
  clear_progress();
  std::fprintf(stderr, is_terminal_ ? "\r[%d/%d] %s" : "[%d/%d] %s\n", step, steps,
               printable(what).c_str());
  line_open_ = is_terminal_;
}

void Console::progress(const std::string& what) {
  const int64_t now_ns = base::mono_time_ns();
  if (!is_terminal_ || now_ns - last_progress_ns_ < kProgressIntervalNs) return;
  last_progress_ns_ = now_ns;
  clear_progress();
  std::fprintf(stderr, "\r%s", printable(what).c_str());
  line_open_ = true;
}

void Console::clear_progress() {
  if (line_open_) std::fputs("\r\x1b[K", stderr);
  line_open_ = false;
}

void Console::tell_notices() {
  for (const base::LogLine& line : base::log_lines_after(notices_start_)) {
    notices_start_ = line.sequence;
    const bool is_new =
        std::find(notes_.begin(), notes_.end(), printable(line.text)) == notes_.end();
    if (line.kind == base::LogKind::kNotice && is_new) note(line.text);
  }
}

int Console::finish(Json body, base::Code code) {
  tell_notices();
  return end(std::move(body), base::exit_code(code));
}

int Console::fail(base::Status status, Json body) {
  std::vector<std::string> sentences;
  for (const base::LogLine& line : base::log_lines_after(log_start_)) {
    if (line.kind == base::LogKind::kFailure) sentences.push_back(line.text);
  }
  if (sentences.empty()) {
    sentences.push_back(format_text("%s (%s)", base::code_name(status.code()), status.site()));
  }
  return fail(status.code(), sentences, std::move(body));
}

int Console::fail(base::Code code, const std::vector<std::string>& sentences, Json body) {
  clear_progress();
  tell_notices();
  Json printed = Json::array();
  for (const std::string& sentence : sentences) {
    printed.push_back(printable(sentence));
    std::fprintf(stderr, "%s: error: %s\n", program_.c_str(), printable(sentence).c_str());
  }
  body["error"] = {{"kind", base::code_name(code)}, {"sentences", std::move(printed)}};
  return end(std::move(body), base::exit_code(code));
}

void Console::forget_sentences() {
  tell_notices();
  log_start_ = base::log_sequence();
}

int Console::end(Json body, int exit_code) {
  clear_progress();
  if (json_) {
    Json document;
    document["verb"] = verb_;
    document["ok"] = exit_code == 0;
    document["exit_code"] = exit_code;
    document["notes"] = notes_;
    for (auto& [key, value] : body.items()) document[key] = std::move(value);
    const std::string text = io::to_text(document);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "%s: error: standard output can't be written\n", program_.c_str());
    return exit_code == 0 ? base::exit_code(base::Code::kIo) : exit_code;
  }
  return exit_code;
}

}  // namespace camshaft::command
