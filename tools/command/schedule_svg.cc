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
constexpr double kBoxHeight = 40;
constexpr double kColumnGap = 30;
constexpr double kRowGap = 34;
constexpr double kMargin = 24;
constexpr double kTitleHeight = 30;
constexpr size_t kMaxLetters = 38;  // of a line in a box

struct Point {
  double x = 0;
  double y = 0;
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

// Centers of the boxes. Within its row, a node comes as near as its neighbours allow to the mean of
// what it reads from.
std::vector<Point> place(const ScheduleGraph& graph) {
  const std::vector<size_t> depths = depths_of(graph);
  std::map<size_t, std::vector<size_t>> rows;
  for (size_t i = 0; i < graph.nodes.size(); ++i) rows[depths[i]].push_back(i);
  std::vector<std::vector<size_t>> sources(graph.nodes.size());
  for (const GraphEdge& edge : graph.edges) {
    if (edge.from < edge.to) sources[edge.to].push_back(edge.from);
  }
  std::vector<Point> centers(graph.nodes.size());
  for (auto& [depth, row] : rows) {
    for (const size_t node : row) {
      double sum = 0;
      for (const size_t source : sources[node]) sum += centers[source].x;
      centers[node].x = sources[node].empty() ? 0 : sum / static_cast<double>(sources[node].size());
      centers[node].y = kTitleHeight + kMargin + kBoxHeight / 2 +
                        static_cast<double>(depth) * (kBoxHeight + kRowGap);
    }
    std::sort(row.begin(), row.end(), [&](size_t a, size_t b) {
      return std::tie(centers[a].x, a) < std::tie(centers[b].x, b);
    });
    // Push overlapping boxes apart to the right, then shift the row back to its wished-for middle.
    double pushed = 0;
    for (size_t i = 1; i < row.size(); ++i) {
      const double least = centers[row[i - 1]].x + kBoxWidth + kColumnGap;
      pushed += std::max(0.0, least - centers[row[i]].x);
      centers[row[i]].x = std::max(centers[row[i]].x, least);
    }
    for (const size_t node : row) centers[node].x -= pushed / static_cast<double>(row.size());
  }
  double left = 0;
  for (const Point& center : centers) left = std::min(left, center.x);
  for (Point& center : centers) center.x += kMargin + kBoxWidth / 2 - left;
  return centers;
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

// At most kMaxLetters characters, cut between characters.
std::string shortened(const std::string& text) {
  if (columns_of(text) <= kMaxLetters) return text;
  size_t end = 0;
  for (size_t letters = 0; letters < kMaxLetters - 1; ++letters) {
    do ++end;
    while ((static_cast<unsigned char>(text[end]) & 0xc0) == 0x80);
  }
  return text.substr(0, end) + "\u2026";
}

std::string box(const GraphNode& node, Point center) {
  const bool is_command = node.kind == NodeKind::kCommand;
  return format_text(
             "<g><title>%s\n%s</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\" "
             "rx=\"%d\" fill=\"%s\"/>",
             xml_text(node.title).c_str(), xml_text(node.detail).c_str(), center.x - kBoxWidth / 2,
             center.y - kBoxHeight / 2, kBoxWidth, kBoxHeight, is_command ? 3 : 18,
             is_command ? "#eef3fb" : "#f4ecd8") +
         format_text("<text x=\"%.1f\" y=\"%.1f\">%s</text>", center.x, center.y - 4,
                     xml_text(shortened(node.title)).c_str()) +
         format_text("<text x=\"%.1f\" y=\"%.1f\" class=\"detail\">%s</text></g>\n", center.x,
                     center.y + 11, xml_text(shortened(node.detail)).c_str());
}

// A curve from the lower edge of one box to the upper edge of another. One that would run behind
// the boxes between them, as that of a residual addition, passes by on the right.
std::string arrow(Point from, Point to) {
  const double start = from.y + kBoxHeight / 2;
  const double end = to.y - kBoxHeight / 2 - 3;
  const bool is_blocked = end - start > kBoxHeight + kRowGap && std::abs(to.x - from.x) < kBoxWidth;
  // The middle of the curve goes three quarters of the way to its control points.
  const double aside = is_blocked ? kBoxWidth * 0.75 : 0;
  const double bend = std::max(12.0, (end - start) / (is_blocked ? 4 : 2));
  return format_text(
      "<path d=\"M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f\" marker-end=\"url(#head)\"/>\n", from.x,
      start, from.x + aside, start + bend, to.x + aside, end - bend, to.x, end);
}

}  // namespace

std::string to_svg(const ScheduleGraph& graph) {
  const std::vector<Point> centers = place(graph);
  Point corner{kMargin + kBoxWidth, kTitleHeight + kMargin};
  for (const Point& center : centers) {
    corner.x = std::max(corner.x, center.x + kBoxWidth * 0.75 + kMargin);
    corner.y = std::max(corner.y, center.y + kBoxHeight / 2 + kMargin);
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
  for (const GraphEdge& edge : graph.edges) text += arrow(centers[edge.from], centers[edge.to]);
  for (size_t i = 0; i < graph.nodes.size(); ++i) text += box(graph.nodes[i], centers[i]);
  return text + "</svg>\n";
}

}  // namespace camshaft::command
