// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "msgq/queue/subscriber.h"
#include "runtime/base/clock.h"
#include "tools/command/interrupt.h"
#include "tools/command/message_text.h"
#include "tools/command/number_checks.h"
#include "tools/command/text.h"
#include "tools/command/topic_hint.h"
#include "tools/command/verb.h"

namespace camshaft::command {
namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr int64_t kSliceNs = 100'000'000;  // until Ctrl-C is seen
constexpr size_t kFirstBytes = 65536;
constexpr double kMostSeconds = 1e9;  // more is for ever

struct EchoOptions {
  std::string topic;
  std::string prefix;
  uint64_t count = 0;    // 0: until interrupted
  double timeout_s = 0;  // for each message; 0: for ever
  bool lines = false;
  bool all = false;
};

// Says once why no message comes, where that is because nobody sends any.
class Silence {
 public:
  Silence(const EchoOptions& options, Console& console) : options_(options), console_(console) {}

  void note(const queue::Subscriber& subscriber) {
    if (has_said_ || subscriber.has_publisher()) return;
    has_said_ = true;
    console_.note("'" + options_.topic + "'" + topic_hint(options_.topic, options_.prefix) +
                  " has no publisher" +
                  (subscriber.is_connected() ? " any more" : " yet, or it has another --prefix") +
                  ": waiting for one");
  }

 private:
  const EchoOptions& options_;
  Console& console_;
  bool has_said_ = false;
};

// False where it was interrupted.
Result<bool> wait_for_message(queue::Subscriber& subscriber, const EchoOptions& options,
                              Silence& silence) {
  const int64_t start_ns = base::mono_time_ns();
  const int64_t end_ns =
      options.timeout_s > 0
          ? start_ns + static_cast<int64_t>(std::min(options.timeout_s, kMostSeconds) * 1e9)
          : INT64_MAX;
  while (!is_interrupted()) {
    const int64_t now_ns = base::mono_time_ns();
    if (now_ns >= end_ns) {
      return base::fail(Code::kDeadlineExceeded, "echo.timeout",
                        "no message came on '%s' within %g s", options.topic.c_str(),
                        options.timeout_s);
    }
    const Status status = subscriber.wait(std::min(end_ns, now_ns + kSliceNs));
    if (status.is_ok()) return true;
    if (status.code() != Code::kDeadlineExceeded) return status;
    silence.note(subscriber);
  }
  return false;
}

// The next message's bytes in `buffer`; sequence 0 where there is none after all.
Result<queue::MessageInfo> receive(queue::Subscriber& subscriber, std::vector<std::byte>& buffer) {
  for (;;) {
    auto info = subscriber.receive(buffer);
    const uint64_t most = subscriber.max_message_bytes();
    const bool is_too_small = !info && info.error().code() == Code::kInvalidArgument;
    if (!is_too_small || buffer.size() >= most) return info;
    buffer.resize(std::min(2 * buffer.size(), most));  // a topic may take much more than it gets
  }
}

void show(const Json& message, const EchoOptions& options, Console& console, Json& messages) {
  if (options.lines) {
    std::printf("%s\n", message.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  } else if (console.json()) {
    messages.push_back(message);
  } else {
    console.print(message_text(message));
  }
  std::fflush(stdout);
}

Status echo(const EchoOptions& options, Console& console, Json& messages) {
  queue::SubscriberOptions reading;
  reading.domain.prefix = options.prefix;
  reading.name = "echo";
  reading.start = options.all ? queue::Start::kOldest : queue::Start::kNext;
  CAMSHAFT_TRY_ASSIGN(queue::Subscriber subscriber,
                      queue::Subscriber::open(options.topic, reading));
  catch_interrupts();
  std::vector<std::byte> buffer(kFirstBytes);
  Silence silence(options, console);
  for (uint64_t shown = 0; options.count == 0 || shown < options.count;) {
    CAMSHAFT_TRY_ASSIGN(const bool is_there, wait_for_message(subscriber, options, silence));
    if (!is_there) break;
    const Result<queue::MessageInfo> info = receive(subscriber, buffer);
    if (!info && info.error().code() == Code::kCorrupt) {
      console.note("a message of '" + options.topic + "' is damaged and was passed over");
      console.forget_sentences();
      continue;
    }
    if (!info) return info.error();
    if (info->sequence == 0) continue;
    const MessageOrigin origin = {
        .topic = options.topic,
        .sequence = info->sequence,
        .sent_ns = info->mono_time_ns,
        .age_s = static_cast<double>(base::mono_time_ns() - info->mono_time_ns) * 1e-9,
        .dropped = info->dropped};
    show(message_json(origin, base::Bytes(buffer).first(info->size_bytes)), options, console,
         messages);
    console.forget_sentences();
    ++shown;
    if (std::ferror(stdout) != 0) break;
  }
  return base::ok();
}

}  // namespace

Action declare_echo(CLI::App& app) {
  auto options = std::make_shared<EchoOptions>();
  app.add_option("topic", options->topic, "Topic to read")->type_name("TOPIC")->required();
  app.add_option("--prefix", options->prefix, "Of the processes that run with this CAMSHAFT_PREFIX")
      ->type_name("PREFIX");
  app.add_option("--count", options->count, "Messages to print, then end; by default all")
      ->type_name("N")
      ->check(above_zero());
  app.add_option("--timeout", options->timeout_s,
                 "Seconds to wait for each message; exit 6 if none comes; by default for ever")
      ->type_name("S")
      ->check(above_zero());
  app.add_flag("--lines", options->lines, "Print each message as a line of JSON");
  app.add_flag("--all", options->all, "Begin with the oldest message that is still there");
  app.footer(
      "Fields have the names of msgq/schema/messages.capnp. --json prints one document at the end, "
      "--lines\na line for each message as it comes.\n\n"
      "Example:\n  camshaft echo modelOutput --lines | jq .message.modelOutput.ageNs");
  return [options](Console& console) {
    Json messages = Json::array();
    if (options->lines && console.json()) {
      return console.fail(Code::kInvalidArgument,
                          {"--lines and --json exclude each other: --lines is JSON already"});
    }
    const Status status = echo(*options, console, messages);
    Json body = {{"messages", std::move(messages)}};
    return status.is_ok() ? console.finish(std::move(body)) : console.fail(status, std::move(body));
  };
}

}  // namespace camshaft::command
