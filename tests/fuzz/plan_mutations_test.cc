// SPDX-License-Identifier: MIT
// Damaged plan files by the hundred thousand. Plain damage must always be found; damage with the
// checksums made right again must be found or be harmless.
#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/plan/format.h"
#include "runtime/plan/signing.h"
#include "tests/fuzz/plan_probe.h"
#include "tests/runtime/plan/patch_plan.h"
#include "tests/runtime/plan/sample_plan.h"

namespace camshaft::plan::test {
namespace {

using base::Code;
using File = std::vector<std::byte>;
using Random = std::mt19937_64;

File make_signed_sample() {
  return sign_plan(write_sample(), SigningKey::from_seed({})).value();
}

size_t below(Random& random, size_t limit) {
  return random() % limit;
}

// Counts what the reader said to many files, and stops at the first broken promise.
class Tally {
 public:
  void add(const File& file, const std::string& what) {
    const Probe probe = probe_plan(file);
    if (!probe.broken_promise.empty()) FAIL(what << ": " << probe.broken_promise);
    ++codes_[probe.code];
    ++sites_[probe.site];
  }
  int count(Code code) const { return codes_.contains(code) ? codes_.at(code) : 0; }
  size_t site_count() const { return sites_.size(); }

 private:
  std::map<Code, int> codes_;
  std::map<std::string, int> sites_;
};

TEST_CASE("undamaged files are not refused") {
  Tally tally;
  tally.add(write_sample(), "sample");
  tally.add(make_signed_sample(), "signed sample");
  CHECK(tally.count(Code::kOk) == 2);
}

TEST_CASE("every single flipped bit is found") {
  const File whole = make_signed_sample();
  File file = whole;
  Tally tally;
  for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
    file[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    tally.add(file, "bit " + std::to_string(bit));
    file[bit / 8] = whole[bit / 8];
  }
  CHECK(tally.count(Code::kCorrupt) == static_cast<int>(8 * file.size()));
  CHECK(file.size() > 13'000);
}

TEST_CASE("every cut is found, and everything appended") {
  const File whole = make_signed_sample();
  Tally tally;
  for (size_t size = 0; size < whole.size(); ++size) {
    tally.add(File(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)),
              "cut to " + std::to_string(size));
  }
  CHECK(tally.count(Code::kCorrupt) == static_cast<int>(whole.size()));
  File longer = whole;
  Tally longer_tally;
  for (int i = 0; i < 300; ++i) {
    longer.push_back(std::byte{0});
    longer_tally.add(longer, "longer by " + std::to_string(i));
  }
  CHECK(longer_tally.count(Code::kCorrupt) == 300);
}

// Damage as disks and networks do it: blocks lost, repeated, moved or full of noise.
void damage_blocks(File& file, Random& random) {
  const size_t size = std::min(size_t{1} << below(random, 13), file.size());
  const auto block = [&] {
    return file.begin() + static_cast<ptrdiff_t>(below(random, file.size() - size + 1));
  };
  const auto to = block();
  const auto end = to + static_cast<ptrdiff_t>(size);
  switch (below(random, 4)) {
    case 0:
      std::fill(to, end, std::byte{0});
      break;
    case 1:
      std::generate(to, end, [&] { return static_cast<std::byte>(random()); });
      break;
    case 2:
      std::copy_n(File(file).begin() + (block() - file.begin()), size, to);
      break;
    default:
      std::rotate(to, to + static_cast<ptrdiff_t>(below(random, size)), end);
  }
}

TEST_CASE("damaged blocks are found") {
  const File whole = make_signed_sample();
  Random random(1);
  Tally tally;
  int unchanged = 0;
  for (int i = 0; i < 5000; ++i) {
    File file = whole;
    damage_blocks(file, random);
    unchanged += file == whole ? 1 : 0;
    tally.add(file, "block " + std::to_string(i));
  }
  CHECK(tally.count(Code::kOk) == unchanged);
  CHECK(tally.count(Code::kCorrupt) == 5000 - unchanged);
  CHECK(unchanged < 2500);
}

// A number as attackers and bugs choose it.
uint64_t odd_number(Random& random) {
  switch (below(random, 6)) {
    case 0:
      return below(random, 8);
    case 1:
      return ~uint64_t{0} - below(random, 3);
    case 2:
      return uint64_t{1} << below(random, 64);
    case 3:
      return (uint64_t{1} << below(random, 64)) - 1;
    case 4:
      return below(random, 4096);
    default:
      return random();
  }
}

// Changes one word, one half or byte of it, or trades two words.
void scramble_word(File& bytes, Random& random) {
  const size_t words = bytes.size() / 8;
  std::byte* at = bytes.data() + 8 * below(random, words);
  switch (below(random, 5)) {
    case 0:
      at[below(random, 8)] ^= static_cast<std::byte>(1 << below(random, 8));
      break;
    case 1:
      base::store_le<uint64_t>(at, odd_number(random));
      break;
    case 2:
      base::store_le<uint32_t>(at + 4 * below(random, 2),
                               static_cast<uint32_t>(odd_number(random)));
      break;
    case 3:
      at[below(random, 8)] = static_cast<std::byte>(odd_number(random));
      break;
    default:
      std::swap_ranges(at, at + 8, bytes.data() + 8 * below(random, words));
  }
}

File scrambled_metadata(const File& whole, const File& metadata, Random& random) {
  File changed = metadata;
  for (size_t n = below(random, 3); n < 3; ++n) scramble_word(changed, random);
  if (below(random, 20) == 0) changed.resize(8 * below(random, metadata.size() / 4));
  return with_metadata(whole, changed);
}

File scrambled_table(const File& whole, Random& random) {
  const Header header = decode_header(whole.data());
  return with_entry(whole, static_cast<uint32_t>(below(random, header.section_count)),
                    [&](TableEntry& entry) {
                      std::byte raw[kTableEntryBytes];
                      encode_entry(entry, raw);
                      File bytes(raw, raw + (below(random, 4) == 0 ? kTableEntryBytes : 32));
                      scramble_word(bytes, random);
                      std::copy(bytes.begin(), bytes.end(), raw);
                      entry = decode_entry(raw);
                    });
}

File scrambled_header(const File& whole, Random& random) {
  return with_header(whole, [&](Header& header) {
    std::byte raw[kHeaderBytes];
    encode_header(header, raw);
    File bytes(raw + 8, raw + 48);
    scramble_word(bytes, random);
    std::copy(bytes.begin(), bytes.end(), raw + 8);
    header = decode_header(raw);
  });
}

// Returns a line that tells what came of it.
std::string check_scrambled(int count, uint64_t seed) {
  const File whole = write_sample();
  const TableEntry first = decode_entry(whole.data() + kHeaderBytes);
  const base::Bytes section = base::slice(whole, first.offset, first.size);
  const File metadata(section.begin(), section.end());
  Random random(seed);
  Tally tally;
  for (int i = 0; i < count; ++i) {
    const size_t kind = below(random, 20);
    const File file = kind == 0   ? scrambled_header(whole, random)
                      : kind <= 3 ? scrambled_table(whole, random)
                                  : scrambled_metadata(whole, metadata, random);
    tally.add(file, "scrambled " + std::to_string(i) + " of seed " + std::to_string(seed));
  }
  // The rules behind the checksums were reached, many of them, and not all files broke one.
  CHECK(tally.count(Code::kOk) > count / 50);
  CHECK(tally.count(Code::kCorrupt) > count / 4);
  CHECK(tally.count(Code::kWrongTarget) > 0);
  CHECK(tally.site_count() > 20);
  return std::to_string(count) + " scrambled files: " + std::to_string(tally.count(Code::kOk)) +
         " harmless, " + std::to_string(tally.count(Code::kCorrupt)) + " damaged, " +
         std::to_string(tally.count(Code::kWrongTarget)) + " for a newer runtime, by " +
         std::to_string(tally.site_count()) + " checks";
}

TEST_CASE("scrambled files with right checksums are found or harmless") {
  INFO(check_scrambled(5000, 2));
}

TEST_CASE("many more scrambled files", "[.long]") {
  for (uint64_t seed = 100; seed < 110; ++seed) WARN(check_scrambled(50'000, seed));
}

}  // namespace
}  // namespace camshaft::plan::test
