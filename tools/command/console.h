// SPDX-License-Identifier: MIT
// What a verb says, and where: results to standard output (a page for people, or with --json one
// document and nothing else), progress, notes and failures to standard error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "tools/io/json.h"

namespace camshaft::command {

using io::Json;

class Console {
 public:
  Console(std::string verb, bool json);

  bool json() const { return json_; }

  // Part of the page for people; nothing with --json.
  void print(std::string_view text);
  // Whether a terminal shows the page, where long lines are hard to read.
  bool prints_to_terminal() const;
  // A remark that doesn't change the result: to standard error, and into the document's "notes".
  void note(const std::string& sentence);

  // Step k of n of long work: a line that the next one replaces where standard error is a terminal,
  // else a line each.
  void progress(int step, int steps, const std::string& what);
  // The state of work in a loop; shown on terminals only, at most ten times a second.
  void progress(const std::string& what);

  // Tells the notices that the log ring got since the verb began, as notes, each once. finish(),
  // fail() and forget_sentences() do that too; long work does it now and then, before newer lines
  // overwrite them.
  void tell_notices();

  // Ends the verb: prints the document where asked for, and returns the exit code to hand up. Every
  // document has "verb", "ok", "exit_code" and "notes", then the members of `body`.
  int finish(Json body, base::Code code = base::Code::kOk);

  // Ends the verb after a failure: every sentence about a failure that the log ring got since the
  // verb began (or since forget_sentences()) goes to standard error and into the document's
  // "error".
  int fail(base::Status status, Json body = Json::object());
  // The same with sentences of the caller's instead.
  int fail(base::Code code, const std::vector<std::string>& sentences, Json body = Json::object());
  // For a failure that was handled: its sentences are not to be told.
  void forget_sentences();

 private:
  void clear_progress();
  int end(Json body, int exit_code);

  std::string verb_;
  std::string program_;  // how sentences begin: "camshaft run"
  bool json_;
  bool is_terminal_;  // standard error
  bool line_open_ = false;
  int64_t last_progress_ns_ = 0;
  uint64_t log_start_;
  uint64_t notices_start_;
  std::vector<std::string> notes_;
};

}  // namespace camshaft::command
