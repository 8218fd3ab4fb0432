// SPDX-License-Identifier: MIT
#include "tools/command/command.h"

int main(int count, char** arguments) {
  return camshaft::command::run_command(count, arguments);
}
