// SPDX-License-Identifier: MIT
#include "tools/command/kernel_report.h"

#include "runtime/plan/describe.h"
#include "tools/command/table.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

using base::Code;
using io::Json;

constexpr size_t kNameColumns = 44;

// A command with what follows from its numbers.
struct Row {
  const plan::CommandInfo& command;
  std::string kernel;
  std::string strategy;
  double flops_share = 0;
  double seconds = 0;  // the rest with a profile only
  double time_share = 0;
  double gflops = 0;
  double gbytes_per_s = 0;
  double peak_share = 0;  // 0: no peak is known
};

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

std::vector<Row> make_rows(const plan::TargetInfo& target, const KernelProfile* profile) {
  double flops = 0;
  double seconds = 0;
  for (const plan::CommandInfo& command : target.commands) {
    flops += static_cast<double>(command.flops);
  }
  if (profile != nullptr) {
    for (const double time : profile->seconds) seconds += time;
  }
  std::vector<Row> rows;
  for (size_t i = 0; i < target.commands.size(); ++i) {
    const plan::CommandInfo& command = target.commands[i];
    Row row{command, "copy", "copy", ratio(static_cast<double>(command.flops), flops)};
    if (command.kind == plan::CommandKind::kLaunch) {
      row.kernel = target.kernels[command.kernel].symbol;
      row.strategy = target.kernels[command.kernel].strategy;
    }
    if (profile != nullptr) {
      row.seconds = profile->seconds[i];
      row.time_share = ratio(row.seconds, seconds);
      row.gflops = ratio(static_cast<double>(command.flops) * 1e-9, row.seconds);
      row.gbytes_per_s = ratio(static_cast<double>(command.bytes) * 1e-9, row.seconds);
      row.peak_share = ratio(row.gflops, profile->peak_gflops.value_or(0) * command.parts);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json launch_json(const plan::CommandInfo& command) {
  Json arguments = Json::array();
  for (const plan::ArgInfo& arg : command.args) {
    Json json = {{"space", plan::space_name(arg.space)},
                 {"index", arg.index},
                 {"offset", arg.offset_bytes},
                 {"bytes", arg.size_bytes}};
    if (arg.image.is_image()) {
      json["image"] = {{"dtype", base::dtype_name(arg.image.dtype)},
                       {"width", arg.image.width},
                       {"height", arg.image.height}};
    }
    arguments.push_back(std::move(json));
  }
  return {{"grid", command.grid}, {"group", command.group}, {"arguments", arguments}};
}

bool same_command(const Json& row, const plan::CommandInfo& command) {
  const auto name = row.find("name");
  const auto us = row.find("us");
  return row.is_object() && name != row.end() && *name == command.name && us != row.end() &&
         us->is_number();
}

}  // namespace

std::string kernels_text(const plan::TargetInfo& target, const KernelProfile* profile,
                         bool is_for_terminal) {
  std::vector<Column> columns = {{"#", Align::kRight},
                                 {"name"},
                                 {"shape"},
                                 {"strategy"},
                                 {"parts", Align::kRight},
                                 {"GFLOP", Align::kRight},
                                 {"share", Align::kRight},
                                 {"bytes", Align::kRight}};
  if (profile != nullptr) {
    for (const char* title : {"us", "time", "GFLOP/s", "GB/s", "peak"}) {
      columns.push_back({title, Align::kRight});
    }
  }
  Table table(columns);
  for (const Row& row : make_rows(target, profile)) {
    std::vector<std::string> cells = {
        std::to_string(&row.command - target.commands.data()),
        is_for_terminal ? shortened(row.command.name, kNameColumns) : row.command.name,
        row.command.description,
        row.strategy,
        std::to_string(row.command.parts),
        format_text("%.6f", static_cast<double>(row.command.flops) * 1e-9),
        percent_text(row.flops_share),
        bytes_text(row.command.bytes)};
    if (profile != nullptr) {
      cells.push_back(format_text("%.2f", row.seconds * 1e6));
      cells.push_back(percent_text(row.time_share));
      cells.push_back(format_text("%.2f", row.gflops));
      cells.push_back(format_text("%.2f", row.gbytes_per_s));
      cells.push_back(profile->peak_gflops ? percent_text(row.peak_share) : "-");
    }
    table.add_row(std::move(cells));
  }
  return table.text();
}

Json kernels_json(const plan::TargetInfo& target, const KernelProfile* profile) {
  Json list = Json::array();
  for (const Row& row : make_rows(target, profile)) {
    Json json = {{"index", list.size()},
                 {"name", row.command.name},
                 {"description", row.command.description},
                 {"kernel", row.kernel},
                 {"strategy", row.strategy},
                 {"parts", row.command.parts},
                 {"flops", row.command.flops},
                 {"bytes", row.command.bytes},
                 {"flops_share", row.flops_share},
                 {"launch", launch_json(row.command)}};
    if (profile != nullptr) {
      json["us"] = row.seconds * 1e6;
      json["time_share"] = row.time_share;
      json["gflops"] = row.gflops;
      json["gbytes_per_s"] = row.gbytes_per_s;
      json["peak_share"] = profile->peak_gflops ? Json(row.peak_share) : Json();
    }
    list.push_back(std::move(json));
  }
  return list;
}

base::Result<KernelProfile> read_profile(const std::string& path, const plan::TargetInfo& target) {
  CAMSHAFT_TRY_ASSIGN(const Json document, io::read_json(path));
  const Json rows = document.is_object() ? document.value("kernels", Json()) : Json();
  if (!rows.is_array()) {
    return base::fail(Code::kInvalidArgument, "profile.form",
                      "%s is no profile; make one with: camshaft bench PLAN --kernels --json",
                      path.c_str());
  }
  KernelProfile profile;
  bool fits = rows.size() == target.commands.size();
  for (size_t i = 0; fits && i < rows.size(); ++i) {
    fits = same_command(rows[i], target.commands[i]);
    if (fits) profile.seconds.push_back(rows[i]["us"].get<double>() * 1e-6);
  }
  if (!fits) {
    return base::fail(Code::kInvalidArgument, "profile.plan",
                      "%s was not measured with the kernels of target %s; measure again with: "
                      "camshaft bench PLAN --target %s --kernels --json",
                      path.c_str(), target.target.c_str(), target.target.c_str());
  }
  const Json peak = document.value("peak", Json());
  if (peak.is_object() && peak.value("gflops", Json()).is_number()) {
    profile.peak_gflops = peak["gflops"].get<double>();
  }
  return profile;
}

}  // namespace camshaft::command
