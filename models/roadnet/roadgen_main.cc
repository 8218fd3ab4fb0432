// SPDX-License-Identifier: MIT
//
// Makes data sets. roadgen writes views `--seed` .. `--seed + --count - 1` in shards; each shard is
//   PREFIX-NNNN.input.bin   uint8   [views][6][128][256]  (frame.h)
//   PREFIX-NNNN.truth.bin   float32 [views][52]           (truth.h), little-endian
// and appears under its name only when it is complete, so that training can begin on the first ones
// while the others are being made. A view depends on its index alone, not on threads or shards.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "models/roadnet/drive.h"
#include "models/roadnet/frame.h"
#include "models/roadnet/truth.h"

namespace {

using namespace camshaft::roadnet;

constexpr const char* kUsage =
    "usage: roadgen --count N --out PREFIX [--seed FIRST] [--shard VIEWS] [--threads N]\n"
    "       roadgen --describe      print the layout of inputs and truth as JSON\n"
    "Seeds from 1000000000 on are held out: never train on them.\n";

struct Options {
  uint64_t count = 0;
  uint64_t seed = 0;
  uint64_t shard = 2048;
  unsigned threads = 0;
  std::string out;
  bool describe = false;
};

bool parse_number(const char* text, uint64_t& value) {
  char* end = nullptr;
  errno = 0;
  value = std::strtoull(text, &end, 10);
  return errno == 0 && end != text && *end == '\0';
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view key = argv[i];
    if (key == "--describe") {
      options.describe = true;
      continue;
    }
    if (++i == argc) {
      return false;
    }
    if (key == "--out") {
      options.out = argv[i];
      continue;
    }
    uint64_t value = 0;
    if (!parse_number(argv[i], value)) {
      return false;
    }
    if (key == "--count") {
      options.count = value;
    } else if (key == "--seed") {
      options.seed = value;
    } else if (key == "--shard") {
      options.shard = value;
    } else if (key == "--threads") {
      options.threads = static_cast<unsigned>(value);
    } else {
      return false;
    }
  }
  return options.describe || (options.count > 0 && options.shard > 0 && !options.out.empty());
}

void make_views(uint64_t first, uint64_t count, unsigned threads, std::vector<uint8_t>& inputs,
                std::vector<Truth>& truths) {
  inputs.resize(count * kInputBytes);
  truths.resize(count);
  std::atomic<uint64_t> next{0};
  const auto work = [&] {
    for (uint64_t i = next++; i < count; i = next++) {
      const Renderer renderer(sample_scene(first + i));
      truths[i] = compute_truth(renderer.scene());
      render_model_view(renderer, InputBytes(&inputs[i * kInputBytes], kInputBytes));
    }
  };
  std::vector<std::thread> pool;
  for (unsigned i = 1; i < threads; ++i) {
    pool.emplace_back(work);
  }
  work();
  for (std::thread& thread : pool) {
    thread.join();
  }
}

bool write_file(const std::string& path, const void* data, size_t size_bytes) {
  const std::string partial = path + ".partial";
  std::FILE* file = std::fopen(partial.c_str(), "wb");
  const bool written = file != nullptr && std::fwrite(data, 1, size_bytes, file) == size_bytes;
  const bool closed = file != nullptr && std::fclose(file) == 0;
  if (written && closed && std::rename(partial.c_str(), path.c_str()) == 0) {
    return true;
  }
  std::fprintf(stderr, "roadgen: cannot write %s: %s\n", path.c_str(), std::strerror(errno));
  return false;
}

// Truth first: whoever sees a shard's inputs may rely on its truth.
bool write_shard(const std::string& name, const std::vector<uint8_t>& inputs,
                 const std::vector<Truth>& truths) {
  return write_file(name + ".truth.bin", truths.data(), truths.size() * sizeof(Truth)) &&
         write_file(name + ".input.bin", inputs.data(), inputs.size());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  if (options.describe) {
    std::printf("%s\n", describe_outputs().c_str());
    return 0;
  }
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const unsigned threads = options.threads > 0 ? options.threads : cores;
  std::vector<uint8_t> inputs;
  std::vector<Truth> truths;
  for (uint64_t done = 0, shard = 0; done < options.count; ++shard) {
    const uint64_t count = std::min(options.shard, options.count - done);
    make_views(options.seed + done, count, threads, inputs, truths);
    char number[16];
    std::snprintf(number, sizeof(number), "-%04u", static_cast<unsigned>(shard));
    if (!write_shard(options.out + number, inputs, truths)) {
      return 1;
    }
    done += count;
  }
  return 0;
}
