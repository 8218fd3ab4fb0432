// SPDX-License-Identifier: MIT
#include "runtime/plan/reader.h"

#include <stdlib.h>

#include <cstring>

#include "runtime/plan/damage.h"
#include "runtime/plan/metadata.h"
#include "runtime/plan/outer_form.h"
#include "runtime/plan/verify.h"

namespace camshaft::plan {
namespace {

using base::Bytes;
using base::Code;
using base::Status;

// Holds the signature of a file against the configured key.
Status check_signature(const std::string& file, Bytes content,
                       const std::optional<Trailer>& trailer, const PublicKey& key) {
  if (!trailer) {
    return base::fail(Code::kCorrupt, "plan.signature",
                      "%s is not signed, but a public key is configured; sign the plan or remove "
                      "the key",
                      file.c_str());
  }
  if (trailer->scheme != kSchemeEd25519Blake2b) {
    return base::fail(Code::kWrongTarget, "plan.signature",
                      "%s needs a newer runtime: its signature is of the unknown scheme %u",
                      file.c_str(), trailer->scheme);
  }
  if (!is_signature_good(content, trailer->signature, key)) {
    return base::fail(Code::kCorrupt, "plan.signature",
                      "%s is not signed by the configured key; don't run it unless you know why",
                      file.c_str());
  }
  return base::ok();
}

}  // namespace

base::Result<PlanFile> PlanFile::open(const std::string& path, const ReadOptions& options) {
  PlanFile plan;
  CAMSHAFT_TRY_ASSIGN(plan.mapping_, base::MappedFile::open(path));
  plan.bytes_ = plan.mapping_->bytes();
  CAMSHAFT_TRY(plan.read(path, options));
  return plan;
}

base::Result<PlanFile> PlanFile::from_bytes(Bytes bytes, const ReadOptions& options,
                                            const std::string& name) {
  PlanFile plan;
  void* memory = nullptr;
  if (::posix_memalign(&memory, kMaxSectionAlignment, bytes.size()) != 0) {
    return base::fail(Code::kOutOfMemory, "plan.copy", "no memory for a plan of %zu bytes",
                      bytes.size());
  }
  plan.copy_.reset(static_cast<std::byte*>(memory));
  if (!bytes.empty()) std::memcpy(plan.copy_.get(), bytes.data(), bytes.size());
  plan.bytes_ = {plan.copy_.get(), bytes.size()};
  CAMSHAFT_TRY(plan.read(name, options));
  return plan;
}

Status PlanFile::read(const std::string& name, const ReadOptions& options) {
  CAMSHAFT_TRY_ASSIGN(const OuterForm form, read_outer_form(bytes_, name));
  header_ = form.header;

  std::optional<Trailer> trailer;
  if (form.content_bytes != bytes_.size()) {
    CAMSHAFT_TRY_ASSIGN(trailer, decode_trailer(bytes_.data() + form.content_bytes, name));
    signer_ = trailer->signer;
  }
  if (options.public_key) {
    const Bytes content = base::slice(bytes_, 0, form.content_bytes);
    CAMSHAFT_TRY(check_signature(name, content, trailer, *options.public_key));
  }

  std::vector<SectionShape> shapes;
  for (const TableEntry& entry : form.sections) {
    const Bytes section = base::slice(bytes_, entry.offset, entry.size);
    sections_.push_back({entry.kind, entry.flags, entry.offset, section, entry.hash});
    shapes.push_back({entry.kind, entry.size});
  }
  CAMSHAFT_TRY(decode_metadata(sections_[0].bytes, name, info_));
  if (const std::optional<Problem> problem = find_problem(info_, shapes)) {
    return damaged(name, problem->site, "%s", problem->text.c_str());
  }
  return base::ok();
}

}  // namespace camshaft::plan
