// SPDX-License-Identifier: MIT
// Opening plan files. Nothing in a file is trusted: what comes out of open() is whole (checksums,
// sizes, padding), understood (versions, section kinds) and consistent (every index, range and
// name), so that users of a PlanFile check nothing again.
//
// Errors, each with a sentence in the log ring:
//   kCorrupt      no plan, damaged, or not signed by the configured key
//   kWrongTarget  whole, but made for a newer runtime
//   kNotFound, kInvalidArgument, kIo: from the operating system
#pragma once

#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "runtime/plan/format.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/signature.h"

namespace camshaft::plan {

struct ReadOptions {
  // If set, a file must be signed with this key's secret half; otherwise signatures are ignored.
  std::optional<PublicKey> public_key;
};

// One row of the section table. Kinds that this version doesn't know are listed, and otherwise
// skipped.
struct SectionView {
  SectionKind kind = SectionKind::kMetadata;
  uint32_t flags = 0;
  uint64_t offset = 0;  // in the file
  base::Bytes bytes;    // aligned in memory as in the file
  Hash128 hash;         // of the bytes, as checked
};

// An open plan. Immutable: any thread may read it. Movable; views stay valid across moves and live
// as long as the object. Opening blocks, and allocates at most a small multiple of the metadata.
class PlanFile {
 public:
  // Maps the file, which must not be changed in place while it is open (renaming another over it is
  // fine: base::write_file_atomically).
  static base::Result<PlanFile> open(const std::string& path, const ReadOptions& options = {});
  // Copies `bytes`. `name` stands for the path in sentences.
  static base::Result<PlanFile> from_bytes(base::Bytes bytes, const ReadOptions& options = {},
                                           const std::string& name = "the plan");

  const PlanInfo& info() const { return info_; }
  std::span<const SectionView> sections() const { return sections_; }
  const Header& header() const { return header_; }
  uint64_t file_bytes() const { return bytes_.size(); }

  // A target's sections, page-aligned; empty where it has none. `target` is one of info().targets.
  base::Bytes binary(const TargetInfo& target) const { return section(target.binary_section); }
  base::Bytes weights(const TargetInfo& target) const { return section(target.weights_section); }
  base::Bytes source(const TargetInfo& target) const { return section(target.source_section); }
  base::Bytes golden_inputs(const Golden& golden) const { return section(golden.inputs_section); }
  base::Bytes golden_outputs(const Golden& golden) const { return section(golden.outputs_section); }
  base::Bytes driver_binary(const DriverBinaryInfo& binary) const {
    return section(binary.section);
  }
  // The values of info().frozen, in their order, each padded to 64 bytes.
  base::Bytes frozen_values() const { return section(info_.frozen_section); }

  // Who signed the file, as it says; only open()'s `public_key` makes that certain.
  const std::optional<PublicKey>& signer() const { return signer_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  PlanFile() = default;
  base::Status read(const std::string& name, const ReadOptions& options);
  // Section 0 is the metadata, which no target refers to: 0 says that there is no such section.
  base::Bytes section(uint32_t index) const {
    return index == 0 ? base::Bytes() : sections_[index].bytes;
  }

  std::optional<base::MappedFile> mapping_;  // owns `bytes_`, or
  std::unique_ptr<std::byte, Free> copy_;    // this does
  base::Bytes bytes_;
  Header header_;
  std::vector<SectionView> sections_;
  std::optional<PublicKey> signer_;
  PlanInfo info_;
};

}  // namespace camshaft::plan
