// SPDX-License-Identifier: MIT
// How --help looks.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace camshaft::command {

// Options in two columns, the descriptions wrapped to fit a terminal: "-d,--device NAME", then what
// it is, and its default. Types are those that Option::type_name() says, without the checks' own
// words.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
};

}  // namespace camshaft::command
