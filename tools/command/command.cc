// SPDX-License-Identifier: MIT
#include "tools/command/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/nearest.h"
#include "runtime/base/version.h"
#include "tools/command/console.h"
#include "tools/command/help.h"
#include "tools/command/text.h"
#include "tools/command/verb.h"

namespace camshaft::command {
namespace {

constexpr const char* kAbout =
    "Camshaft compiles neural networks, once and offline, into plans, and runs plans in real time.";
constexpr const char* kExitCodes =
    "Exit codes: 0 ok, 1 fault, 2 usage or bad input, 3 unsupported model, 4 wrong target or\n"
    "device, 5 outside tolerance or a bound, 6 deadline missed, 7 damaged file.\n"
    "Every verb takes --json and --help: camshaft run --help\n";

const Verb* find_verb(std::string_view name) {
  for (const Verb& verb : verbs()) {
    if (name == verb.name) return &verb;
  }
  return nullptr;
}

std::string help_text() {
  std::string text = std::string(kAbout) + "\n\nUsage: camshaft VERB [OPTIONS]\n\nVerbs:\n";
  std::string elsewhere;
  for (const Verb& verb : verbs()) {
    if (verb.compiles && !kCanCompile) {
      elsewhere += (elsewhere.empty() ? "" : ", ") + std::string(verb.name);
      continue;
    }
    text += format_text("  %-9s %s\n", verb.name, verb.summary);
  }
  if (!elsewhere.empty()) text += "On a desktop only: " + elsewhere + "\n";
  return text + "\nOptions:\n  --help    Print this, or a verb's help\n" +
         "  --version Print the version\n\n" + kExitCodes;
}

bool asks_for_json(int count, const char* const* arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string_view word = arguments[i];
    if (word == "--json" || word == "--json=true") return true;
  }
  return false;
}

// What the user typed wrong, as one line.
std::string usage_sentence(const Verb& verb, const CLI::ParseError& error) {
  std::string what = error.what();
  constexpr std::string_view kUnread = "Could not convert: ";
  if (what.starts_with(kUnread)) {
    const size_t between = what.find(" = ");
    if (between != std::string::npos) {
      what = what.substr(kUnread.size(), between - kUnread.size()) + ": can't read '" +
             what.substr(between + 3) + "'";
    }
  }
  constexpr std::string_view kValue = " was given a disallowed flag override";
  if (what.ends_with(kValue)) {
    what = "--" + what.substr(0, what.size() - kValue.size()) + " takes no value";
  }
  const size_t end = what.find_last_not_of("\n ");
  what.resize(end == std::string::npos ? 0 : end + 1);
  for (char& c : what) c = c == '\n' ? ' ' : c;
  return what + "; see camshaft " + verb.name + " --help";
}

// Where a verb has an option that is written like this one, as in --treads, a hint at it.
std::string option_hint(const CLI::App& options, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  const size_t begin = word.find_first_not_of('-');
  if (begin != 2) return "";
  base::NearestName nearest(std::string_view(word).substr(begin, word.find('=') - begin));
  for (const std::string& name : names) nearest.offer(name);
  return nearest.found().empty() ? "" : " (did you mean --" + std::string(nearest.found()) + "?)";
}

// The first of the words left over that is written like an option; empty: none is.
std::string unknown_option(const CLI::App& options) {
  for (const std::string& word : options.remaining()) {
    if (word.size() > 1 && word[0] == '-') return word;
  }
  return "";
}

// Of words that were left over, the one that explains the others.
std::string unknown_sentence(const Verb& verb, const CLI::App& options) {
  const std::string option = unknown_option(options);
  const std::string what =
      option.empty() ? "'" + printable(options.remaining().front()) + "' is one argument too many"
                     : "there is no option " + printable(option) + option_hint(options, option);
  return what + "; see camshaft " + verb.name + " --help";
}

// Of the first argument that is empty, a variable of the caller's script that isn't set, and not
// the wish for none. Empty: there is no such argument.
std::string empty_sentence(const Verb& verb, const CLI::App& options) {
  for (const CLI::Option* option : options.get_options()) {
    const std::vector<std::string>& given = option->results();
    if (std::find(given.begin(), given.end(), "") == given.end()) continue;
    return option->get_name() + ": the name is empty: write one" +
           (option->get_required() ? "" : ", or leave it out") + "; see camshaft " + verb.name +
           " --help";
  }
  return "";
}

int run_verb(const Verb& verb, int count, const char* const* arguments) {
  CLI::App options(verb.summary, std::string("camshaft ") + verb.name);
  options.formatter(std::make_shared<HelpFormatter>());
  Console console(verb.name, asks_for_json(count, arguments));
  bool json = false;
  try {
    const Action action = verb.declare(options);
    // With no other value than true: asks_for_json() looks for it before the words are read.
    options.add_flag("--json", json, "Print the result as one JSON document")
        ->disable_flag_override();
    options.parse(count - 1, arguments + 1);
    const std::string empty = empty_sentence(verb, options);
    if (!empty.empty()) return console.fail(base::Code::kInvalidArgument, {empty});
    return action(console);
  } catch (const CLI::CallForHelp&) {
    std::fputs(options.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ExtrasError&) {
    return console.fail(base::Code::kInvalidArgument, {unknown_sentence(verb, options)});
  } catch (const CLI::RequiredError& error) {
    // What is missing was likely meant by an option that isn't there.
    return console.fail(base::Code::kInvalidArgument,
                        {unknown_option(options).empty() ? usage_sentence(verb, error)
                                                         : unknown_sentence(verb, options)});
  } catch (const CLI::ParseError& error) {
    return console.fail(base::Code::kInvalidArgument, {usage_sentence(verb, error)});
  } catch (const std::bad_alloc&) {
    return console.fail(base::Code::kOutOfMemory, {"there is not enough memory"});
  }
}

int refuse(const std::string& sentence, bool json) {
  Console console("", json);
  return console.fail(base::Code::kInvalidArgument, {sentence});
}

}  // namespace

int run_command(int count, const char* const* arguments) {
  // A file that may not grow further is a failure with a sentence, and no death.
  std::signal(SIGXFSZ, SIG_IGN);
  const bool json = asks_for_json(count, arguments);
  const std::string first = count > 1 ? arguments[1] : "";
  if (first == "--help" || first == "-h" || first == "help") {
    std::fputs(help_text().c_str(), stdout);
    return 0;
  }
  if (first == "--version") {
    std::printf("camshaft %s\n", base::kVersion);
    return 0;
  }
  if (const Verb* verb = find_verb(first)) return run_verb(*verb, count, arguments);
  std::vector<std::string> names;
  for (const Verb& verb : verbs()) names.push_back(verb.name);
  const std::string known = "the verbs are " + join(names, ", ") + "; see camshaft --help";
  return refuse(first.empty() ? "what to do? " + known
                              : "there is no verb '" + first + "'" +
                                    base::did_you_mean(first, names) + "; " + known,
                json);
}

}  // namespace camshaft::command
