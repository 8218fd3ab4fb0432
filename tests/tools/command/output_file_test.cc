// SPDX-License-Identifier: MIT
#include "tools/command/output_file.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/support/last_sentence.h"
#include "tests/support/temporary_folder.h"

namespace camshaft::command {
namespace {

TEST_CASE("what was read is not written over, by whatever name") {
  const test::TemporaryFolder folder;
  const std::string model = folder / "model.onnx";
  std::ofstream(model) << "model";
  std::filesystem::create_symlink(model, folder / "link");
  for (const std::string& output : {model, folder / "./model.onnx", folder / "link"}) {
    CHECK(check_not_overwritten(output, model).code() == base::Code::kInvalidArgument);
    CHECK(test::last_sentence().find("would overwrite " + model) != std::string::npos);
  }
  std::ofstream(folder / "old.plan") << "plan";
  CHECK(check_not_overwritten(folder / "old.plan", model).is_ok());
  CHECK(check_not_overwritten(folder / "new.plan", model).is_ok());
  CHECK(check_not_overwritten("", model).is_ok());
  CHECK(check_not_overwritten(folder / "none", folder / "none").is_ok());
}

TEST_CASE("whether a file can be written is known before") {
  const test::TemporaryFolder folder;
  CHECK(check_writable("--output", folder / "new.plan").is_ok());
  CHECK(check_writable("--output", "new.plan").is_ok());
  CHECK(check_writable("--output", folder / "none/new.plan").code() == base::Code::kNotFound);
  CHECK(test::last_sentence().find("there is no folder " + (folder / "none")) != std::string::npos);
  std::filesystem::create_directory(folder / "sub");
  CHECK(check_writable("--output", folder / "sub").code() == base::Code::kInvalidArgument);
  CHECK(test::last_sentence().find("is a folder") != std::string::npos);
  CHECK(check_writable("--graph", folder / "sub").code() == base::Code::kInvalidArgument);
  CHECK(test::last_sentence().find("--graph " + (folder / "sub")) == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "new.plan"));
  // Where nobody, not even root, can make files.
  CHECK(check_writable("--output", "/proc/self/new.plan").code() == base::Code::kIo);
}

}  // namespace
}  // namespace camshaft::command
