// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "tools/command/schedule_graph.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

// Pixels.
constexpr double kBoxWidth = 250;
constexpr double kTitleLine = 15;
constexpr double kDetailLine = 13;
constexpr double kPadding = 6;  // above and below a box's text
constexpr double kColumnGap = 30;
constexpr double kRowGap = 34;
constexpr double kMargin = 24;
constexpr double kTitleHeight = 30;
constexpr size_t kTitleLetters = 38;  // of a line in a box
constexpr size_t kDetailLetters = 42;

struct Point {
  double x = 0;
  double y = 0;
};

// A node as it is drawn: whole names and shapes, in as many lines as they take.
struct Box {
  std::vector<std::string> title;
  std::vector<std::string> detail;
  Point center;

  double height() const {
    return 2 * kPadding + kTitleLine * static_cast<double>(title.size()) +
           kDetailLine * static_cast<double>(detail.size());
  }
  double top() const { return center.y - height() / 2; }
  double bottom() const { return center.y + height() / 2; }
};

// Rows by depth: a node lies below all that it reads from.
std::vector<size_t> depths_of(const ScheduleGraph& graph) {
  std::vector<size_t> depths(graph.nodes.size(), 0);
  std::vector<GraphEdge> edges = graph.edges;
  std::sort(edges.begin(), edges.end(),
            [](const GraphEdge& a, const GraphEdge& b) { return a.from < b.from; });
  for (const GraphEdge& edge : edges) {
    if (edge.from < edge.to) depths[edge.to] = std::max(depths[edge.to], depths[edge.from] + 1);
  }
  return depths;
}

// Pushes overlapping boxes of a row apart to the right, then shifts the row back to its wished-for
// middle.
void spread(std::vector<size_t>& row, std::vector<Box>& boxes) {
  std::sort(row.begin(), row.end(), [&](size_t a, size_t b) {
    return std::tie(boxes[a].center.x, a) < std::tie(boxes[b].center.x, b);
  });
  double pushed = 0;
  for (size_t i = 1; i < row.size(); ++i) {
    double& x = boxes[row[i]].center.x;
    const double least = boxes[row[i - 1]].center.x + kBoxWidth + kColumnGap;
    pushed += std::max(0.0, least - x);
    x = std::max(x, least);
  }
  for (const size_t node : row) boxes[node].center.x -= pushed / static_cast<double>(row.size());
}

// The boxes of all nodes. Within its row, a node comes as near as its neighbours allow to the mean
// of what it reads from; a row is as high as its highest box.
std::vector<Box> place(const ScheduleGraph& graph, const std::vector<size_t>& depths) {
  std::map<size_t, std::vector<size_t>> rows;
  for (size_t i = 0; i < graph.nodes.size(); ++i) rows[depths[i]].push_back(i);
  std::vector<std::vector<size_t>> sources(graph.nodes.size());
  for (const GraphEdge& edge : graph.edges) {
    if (edge.from < edge.to) sources[edge.to].push_back(edge.from);
  }
  std::vector<Box> boxes;
  for (const GraphNode& node : graph.nodes) {
    boxes.push_back({wrapped(node.title, kTitleLetters), wrapped(node.detail, kDetailLetters), {}});
  }
  double top = kTitleHeight + kMargin;
  for (auto& [depth, row] : rows) {
    double height = 0;
    for (const size_t node : row) height = std::max(height, boxes[node].height());
    for (const size_t node : row) {
      double sum = 0;
      for (const size_t source : sources[node]) sum += boxes[source].center.x;
      const auto count = static_cast<double>(sources[node].size());
      boxes[node].center = {count == 0 ? 0 : sum / count, top + height / 2};
    }
    spread(row, boxes);
    top += height + kRowGap;
  }
  double left = 0;
  for (const Box& box : boxes) left = std::min(left, box.center.x);
  for (Box& box : boxes) box.center.x += kMargin + kBoxWidth / 2 - left;
  return boxes;
}

std::string xml_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string text_line(Point at, const char* style, const std::string& text) {
  return format_text("<text x=\"%.1f\" y=\"%.1f\"%s>%s</text>", at.x, at.y, style,
                     xml_text(text).c_str());
}

std::string box_text(const GraphNode& node, const Box& box) {
  const bool is_command = node.kind == NodeKind::kCommand;
  std::string text = format_text(
      "<g><title>%s\n%s</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\" "
      "rx=\"%d\" fill=\"%s\"/>",
      xml_text(node.title).c_str(), xml_text(node.detail).c_str(), box.center.x - kBoxWidth / 2,
      box.top(), kBoxWidth, box.height(), is_command ? 3 : 18, is_command ? "#eef3fb" : "#f4ecd8");
  Point line{box.center.x, box.top() + kPadding - 3};  // letters stand 3 above a line's lower edge
  for (const std::string& each : box.title) {
    line.y += kTitleLine;
    text += text_line(line, "", each);
  }
  for (const std::string& each : box.detail) {
    line.y += kDetailLine;
    text += text_line(line, " class=\"detail\"", each);
  }
  return text + "</g>\n";
}

// A curve from the lower edge of one box to the upper edge of another. One that would run behind
// the boxes between them, as that of a residual addition, passes by on the right.
std::string arrow(const Box& from, const Box& to, bool passes_rows) {
  const double start = from.bottom();
  const double end = to.top() - 3;
  const bool is_blocked = passes_rows && std::abs(to.center.x - from.center.x) < kBoxWidth;
  // The middle of the curve goes three quarters of the way to its control points.
  const double aside = is_blocked ? kBoxWidth * 0.75 : 0;
  const double bend = std::max(12.0, (end - start) / (is_blocked ? 4 : 2));
  return format_text(
      "<path d=\"M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f\" marker-end=\"url(#head)\"/>\n",
      from.center.x, start, from.center.x + aside, start + bend, to.center.x + aside, end - bend,
      to.center.x, end);
}

}  // namespace

std::string to_svg(const ScheduleGraph& graph) {
  const std::vector<size_t> depths = depths_of(graph);
  const std::vector<Box> boxes = place(graph, depths);
  Point corner{kMargin + kBoxWidth, kTitleHeight + kMargin};
  for (const Box& box : boxes) {
    corner.x = std::max(corner.x, box.center.x + kBoxWidth * 0.75 + kMargin);
    corner.y = std::max(corner.y, box.bottom() + kMargin);
  }
  std::string text = format_text(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\">\n<style>"
      "rect{stroke:#456} path{fill:none;stroke:#456} "
      "text{font:12px sans-serif;text-anchor:middle;fill:#123} .detail{font-size:10px;fill:#456} "
      ".name{font-size:15px;text-anchor:start}</style>\n"
      "<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"6\" refY=\"4\" markerWidth=\"7\" "
      "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" style=\"fill:#456\"/>"
      "</marker></defs>\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\" "
      "style=\"stroke:none\"/>\n<text class=\"name\" x=\"%.0f\" y=\"26\">%s</text>\n",
      corner.x, corner.y, kMargin, xml_text(printable(graph.title)).c_str());
  for (const GraphEdge& edge : graph.edges) {
    text += arrow(boxes[edge.from], boxes[edge.to], depths[edge.to] > depths[edge.from] + 1);
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) text += box_text(graph.nodes[i], boxes[i]);
  return text + "</svg>\n";
}

}  // namespace camshaft::command
