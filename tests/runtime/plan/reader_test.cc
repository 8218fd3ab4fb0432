// SPDX-License-Identifier: MIT
// Files that the reader refuses, each for its own reason. tests/fuzz has the random ones.
#include "runtime/plan/reader.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/base/file.h"
#include "runtime/plan/metadata.h"
#include "tests/runtime/plan/patch_plan.h"
#include "tests/runtime/plan/sample_plan.h"
#include "tests/support/last_sentence.h"
#include "tests/support/temporary_folder.h"

namespace camshaft::plan {
namespace {

using base::Code;
using Catch::Contains;
using File = std::vector<std::byte>;

// Opens a file that must be refused, with its sentence in `sentence`.
base::Status refusal(const File& file, std::string* sentence = nullptr) {
  const auto plan = PlanFile::from_bytes(file, {}, "bad.plan");
  if (plan) return base::ok();
  const std::string text = camshaft::test::last_sentence();
  CHECK_THAT(text, Contains("bad.plan"));
  if (sentence != nullptr) *sentence = text;
  return plan.error();
}

void check_refused(const File& file, Code code, const std::string& site,
                   const std::string& sentence_part) {
  std::string sentence;
  const base::Status status = refusal(file, &sentence);
  CHECK(base::code_name(status.code()) == std::string(base::code_name(code)));
  CHECK(status.site() == site);
  CHECK_THAT(sentence, Contains(sentence_part));
}

File text_file(const std::string& text) {
  const base::Bytes bytes = base::as_bytes(text);
  return File(bytes.begin(), bytes.end());
}

TEST_CASE("the sample itself is accepted") {
  CHECK(refusal(test::write_sample()).is_ok());
}

TEST_CASE("files that are no plans") {
  check_refused({}, Code::kCorrupt, "plan.magic", "is not a Camshaft plan (it is empty)");
  check_refused(text_file("\x7f"
                          "ELF, say"),
                Code::kCorrupt, "plan.magic", "is not a Camshaft plan");
  check_refused(text_file("x"), Code::kCorrupt, "plan.magic", "is not a Camshaft plan");
  File converted = test::write_sample();
  converted.erase(converted.begin() + 4);  // CR LF -> LF
  check_refused(converted, Code::kCorrupt, "plan.magic", "is not a Camshaft plan");
}

TEST_CASE("files that were cut or grew") {
  const File file = test::write_sample();
  check_refused(File(file.begin(), file.begin() + 5), Code::kCorrupt, "plan.header",
                "ends within its header, at byte 5");
  check_refused(File(file.begin(), file.begin() + 63), Code::kCorrupt, "plan.header", "at byte 63");
  check_refused(File(file.begin(), file.end() - 1), Code::kCorrupt, "plan.file_size",
                "it has 14271 bytes and should have 14272");
  File longer = file;
  longer.resize(longer.size() + 64);
  check_refused(longer, Code::kCorrupt, "plan.file_size", "it has 14336 bytes");
  test::fix_checksums(longer);
  check_refused(longer, Code::kCorrupt, "plan.end", "its last section ends at byte");
}

TEST_CASE("damage is told from a newer format") {
  const File file = test::write_sample();
  const File newer = test::with_header(file, [](Header& h) { h.format_version = 3; });
  check_refused(newer, Code::kWrongTarget, "plan.version",
                "needs a newer runtime: format version 3");
  // Of a newer version, only the header is looked at.
  File newer_other = newer;
  newer_other[kHeaderBytes] ^= std::byte{0xff};
  check_refused(newer_other, Code::kWrongTarget, "plan.version", "format version 3");
  File damaged = file;
  damaged[8] = std::byte{3};
  check_refused(damaged, Code::kCorrupt, "plan.header", "header does not match its checksum");
  File newer_cut = newer;
  newer_cut.resize(5000);
  check_refused(newer_cut, Code::kCorrupt, "plan.file_size", "it has 5000 bytes");
  check_refused(test::with_header(file, [](Header& h) { h.format_version = 0; }), Code::kCorrupt,
                "plan.version", "format version is 0");
}

TEST_CASE("flags and fields of later versions") {
  const File file = test::write_sample();
  check_refused(test::with_header(file, [](Header& h) { h.flags = 2; }), Code::kWrongTarget,
                "plan.flags", "header flag 2");
  check_refused(test::with_header(file, [](Header& h) { h.reserved = 7; }), Code::kWrongTarget,
                "plan.flags", "header field 7");
  check_refused(test::with_entry(file, 1, [](TableEntry& e) { e.flags |= 4; }), Code::kWrongTarget,
                "plan.flags", "section flag 4");
  check_refused(test::with_entry(file, 1, [](TableEntry& e) { e.reserved = 9; }),
                Code::kWrongTarget, "plan.flags", "section field 9");
}

TEST_CASE("unknown sections are skipped if optional and refused if required") {
  PlanContents contents = test::make_sample();
  const auto unknown = static_cast<SectionKind>(77);
  CHECK(contents.add_section(unknown, File(10)) == contents.sections.size());
  CHECK(contents.sections.back().flags == 0);
  const PlanFile plan = PlanFile::from_bytes(write_plan(contents).value()).value();
  CHECK(plan.info() == contents.info);
  CHECK(plan.sections().back().kind == unknown);
  contents.sections.back().flags = kSectionRequired;
  check_refused(write_plan(contents).value(), Code::kWrongTarget, "plan.section_kind",
                "section kind 77");
}

TEST_CASE("section tables that can't be") {
  const File file = test::write_sample();
  const auto entry = [&](uint32_t index, const std::function<void(TableEntry&)>& change,
                         const std::string& site) {
    check_refused(test::with_entry(file, index, change), Code::kCorrupt, site, "is damaged");
  };
  entry(1, [](TableEntry& e) { e.offset += 64; }, "plan.section_range");
  entry(1, [](TableEntry& e) { e.offset = 64; }, "plan.section_range");
  entry(1, [](TableEntry& e) { e.size = ~uint64_t{0}; }, "plan.section_range");
  entry(1, [](TableEntry& e) { e.size -= 1; }, "plan.section_checksum");
  entry(9, [](TableEntry& e) { e.size += 64; }, "plan.section_range");
  entry(9, [](TableEntry& e) { e.size -= 64; }, "plan.section_checksum");
  entry(1, [](TableEntry& e) { e.alignment = 64; }, "plan.alignment");
  entry(1, [](TableEntry& e) { e.alignment = 96; }, "plan.alignment");
  entry(1, [](TableEntry& e) { e.alignment = 1u << 20; }, "plan.alignment");
  entry(1, [](TableEntry& e) { e.alignment = 0; }, "plan.alignment");
  entry(1, [](TableEntry& e) { e.hash.low ^= 1; }, "plan.section_checksum");
  entry(0, [](TableEntry& e) { e.kind = SectionKind::kBinary; }, "plan.section_kind");
  entry(3, [](TableEntry& e) { e.kind = SectionKind::kMetadata; }, "plan.section_kind");
  for (const uint32_t count : {0u, 5000u, ~0u}) {
    check_refused(test::with_header(file, [&](Header& h) { h.section_count = count; }),
                  Code::kCorrupt, "plan.table", "no room for its");
  }
}

TEST_CASE("padding must be zero, before sections and at the end") {
  const File file = test::write_sample();
  for (const size_t offset : {size_t{4000}, size_t{4096 + 500}, size_t{8191}}) {
    File dirty = file;
    REQUIRE(dirty[offset] == std::byte{0});
    dirty[offset] = std::byte{1};
    check_refused(dirty, Code::kCorrupt, "plan.padding", "padding at byte");
  }
  PlanContents contents = test::make_sample();
  contents.add_section(SectionKind::kSource, File(1));
  File odd = write_plan(contents).value();
  odd.back() = std::byte{1};
  check_refused(odd, Code::kCorrupt, "plan.padding", "padding at byte");
}

TEST_CASE("the sentence names the section and where it is") {
  File file = test::write_sample();
  file[4096 + 17] ^= std::byte{0x20};
  check_refused(file, Code::kCorrupt, "plan.section_checksum",
                "bad.plan is damaged: section 1 (weights, 500 bytes at byte 4096) does not match "
                "its checksum; copy the file again or recompile the model");
}

TEST_CASE("rules of the metadata are applied to files") {
  const File file = test::write_sample();
  PlanInfo info = test::make_sample().info;
  info.targets[0].commands[1].kernel = 9;
  const File broken = test::with_metadata(file, encode_metadata(info).value());
  check_refused(broken, Code::kCorrupt, "plan.kernel_index",
                "command 1 of target llvm:x86-64-v3 uses kernel 9 of 2");
}

TEST_CASE("files are opened, or not, by path") {
  const camshaft::test::TemporaryFolder folder;
  const std::string path = folder / "sample.plan";
  CHECK(PlanFile::open(path).error().code() == Code::kNotFound);
  CHECK(PlanFile::open(folder.path()).error().code() == Code::kInvalidArgument);
  REQUIRE(base::write_file_atomically(path, test::write_sample()).is_ok());
  CHECK(PlanFile::open(path).value().info() == test::make_sample().info);
  REQUIRE(base::write_file_atomically(path, {}).is_ok());
  CHECK(PlanFile::open(path).error().code() == Code::kCorrupt);
  CHECK_THAT(camshaft::test::last_sentence(), Contains(path));
}

}  // namespace
}  // namespace camshaft::plan
