// SPDX-License-Identifier: MIT
#include "tests/perf/queue/series.h"

#include <algorithm>
#include <cstdio>
#include <functional>

namespace camshaft::perf {
namespace {

constexpr const char* kOurs = "camshaft, borrowed";

struct Condition {
  bool spin;
  bool is_loaded;

  bool holds(const Series& series) const {
    return series.setup.spin == spin && series.is_loaded == is_loaded;
  }
  std::string text() const {
    return std::string(spin ? "spinning" : "sleeping") + " receivers, " +
           (is_loaded ? "busy processes beside them" : "idle machine");
  }
};
constexpr Condition kConditions[] = {{false, false}, {false, true}, {true, false}, {true, true}};

using Wanted = std::function<bool(const Series&)>;

Series* find(std::vector<Series>& all, const Wanted& wanted) {
  for (Series& series : all) {
    if (wanted(series)) return &series;
  }
  return nullptr;
}

Series* bare_of(std::vector<Series>& all, const Series& like) {
  return find(all, [&](const Series& s) {
    return s.is_bare && s.setup.spin == like.setup.spin && s.is_loaded == like.is_loaded &&
           s.setup.size_bytes == like.setup.size_bytes && s.setup.receivers == like.setup.receivers;
  });
}

template <typename Value>
std::vector<Value> different(const std::vector<Series>& all,
                             const std::function<Value(const Series&)>& value) {
  std::vector<Value> values;
  for (const Series& series : all) {
    if (std::find(values.begin(), values.end(), value(series)) == values.end()) {
      values.push_back(value(series));
    }
  }
  return values;
}

std::vector<std::string> channels(const std::vector<Series>& all) {
  return different<std::string>(all, [](const Series& s) { return s.channel; });
}
std::vector<uint64_t> sizes(const std::vector<Series>& all) {
  return different<uint64_t>(all, [](const Series& s) { return s.setup.size_bytes; });
}
std::vector<uint32_t> receivers(const std::vector<Series>& all) {
  return different<uint32_t>(all, [](const Series& s) { return s.setup.receivers; });
}

std::string size_text(uint64_t bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return std::to_string(bytes >> 20) + " MB";
  if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) return std::to_string(bytes >> 10) + " KB";
  return std::to_string(bytes) + " B";
}

// Three digits, as far as they mean something.
std::string us_text(double us) {
  char text[32];
  std::snprintf(text, sizeof text, us < 0 ? "-" : us < 1 ? "%.2f" : us < 100 ? "%.1f" : "%.0f", us);
  return text;
}

void print_header(const char* first, const std::vector<uint64_t>& columns) {
  std::printf("| %s |", first);
  for (const uint64_t size : columns) std::printf(" %s |", size_text(size).c_str());
  std::printf("\n|---|");
  for (size_t i = 0; i < columns.size(); ++i) std::printf("---|");
  std::printf("\n");
}

// One receiver that sleeps on an idle machine: p50.
void print_readme_table(std::vector<Series>& all) {
  print_header("p50, us", sizes(all));
  for (const std::string& channel : channels(all)) {
    const char* const mark = channel == kOurs ? "**" : "";
    std::printf("| %s%s%s |", mark, channel.c_str(), mark);
    for (const uint64_t size : sizes(all)) {
      Series* const found = find(all, [&](const Series& s) {
        return s.channel == channel && s.setup.size_bytes == size && s.setup.receivers == 1 &&
               kConditions[0].holds(s);
      });
      const std::string text = found == nullptr ? "-" : us_text(found->percentile_us(0.5));
      std::printf(" %s%s%s |", mark, text.c_str(), mark);
    }
    std::printf("\n");
  }
  std::printf("\n");
}

// Ours beside the bare futex, and when readers spin.
void print_readme_lines(std::vector<Series>& all) {
  for (const uint64_t size : sizes(all)) {
    const auto ours = [&](bool spin) {
      return find(all, [&](const Series& s) {
        return s.channel == kOurs && s.setup.size_bytes == size && s.setup.receivers == 1 &&
               !s.is_loaded && s.setup.spin == spin;
      });
    };
    Series* const sleeping = ours(false);
    Series* const bare = sleeping == nullptr ? nullptr : bare_of(all, *sleeping);
    std::printf("- %s, in place, one reader:", size_text(size).c_str());
    if (bare != nullptr) {
      std::printf(" p50 %.2f and p99 %.2f of the bare futex's (its p99: %s us)",
                  sleeping->percentile_us(0.5) / bare->percentile_us(0.5),
                  sleeping->percentile_us(0.99) / bare->percentile_us(0.99),
                  us_text(bare->percentile_us(0.99)).c_str());
    }
    if (Series* const spinning = ours(true)) {
      std::printf("; spinning %s us", us_text(spinning->percentile_us(0.5)).c_str());
    }
    std::printf("\n");
  }
  std::printf("\n");
}

void print_whole_table(std::vector<Series>& all, const Condition& condition) {
  if (find(all, [&](const Series& s) { return condition.holds(s); }) == nullptr) return;
  std::printf("%s: p50 / p99 / p99.9 in us\n\n", condition.text().c_str());
  print_header("channel, receivers", sizes(all));
  for (const std::string& channel : channels(all)) {
    for (const uint32_t count : receivers(all)) {
      std::string row;
      bool has_any = false;
      for (const uint64_t size : sizes(all)) {
        Series* const found = find(all, [&](const Series& s) {
          return condition.holds(s) && s.channel == channel && s.setup.size_bytes == size &&
                 s.setup.receivers == count;
        });
        has_any |= found != nullptr;
        row += found == nullptr ? " - |"
                                : " " + us_text(found->percentile_us(0.5)) + " / " +
                                      us_text(found->percentile_us(0.99)) + " / " +
                                      us_text(found->percentile_us(0.999)) + " |";
      }
      if (has_any) std::printf("| %s, %u |%s\n", channel.c_str(), count, row.c_str());
    }
  }
  std::printf("\n");
}

}  // namespace

double Series::percentile_us(double share) {
  if (latencies_ns.empty()) return -1;
  std::sort(latencies_ns.begin(), latencies_ns.end());
  const auto at = static_cast<size_t>(share * static_cast<double>(latencies_ns.size() - 1) + 0.5);
  return static_cast<double>(latencies_ns[at]) / 1000;
}

void print_text(std::vector<Series>& all) {
  for (const Condition& condition : kConditions) {
    if (find(all, [&](const Series& s) { return condition.holds(s); }) == nullptr) continue;
    std::printf("%s\n%9s %4s  %-20s %9s %9s %9s %9s %8s %8s\n", condition.text().c_str(), "bytes",
                "recv", "", "p50 us", "p99", "p99.9", "missing", "p50/bare", "p99/bare");
    for (Series& s : all) {
      if (!condition.holds(s)) continue;
      Series* const bare = bare_of(all, s);
      const auto beside_bare = [&](double share) {
        return bare == nullptr ? -1 : s.percentile_us(share) / bare->percentile_us(share);
      };
      std::printf("%9llu %4u  %-20s %9.2f %9.2f %9.2f %9llu %8.2f %8.2f\n",
                  static_cast<unsigned long long>(s.setup.size_bytes), s.setup.receivers,
                  s.channel.c_str(), s.percentile_us(0.5), s.percentile_us(0.99),
                  s.percentile_us(0.999), static_cast<unsigned long long>(s.missing),
                  beside_bare(0.5), beside_bare(0.99));
    }
  }
}

void print_markdown(std::vector<Series>& all) {
  print_readme_table(all);
  print_readme_lines(all);
  for (const Condition& condition : kConditions) print_whole_table(all, condition);
}

}  // namespace camshaft::perf
