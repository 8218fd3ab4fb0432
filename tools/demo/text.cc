// SPDX-License-Identifier: MIT
#include "tools/demo/text.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace camshaft::demo {
namespace {

constexpr int kColumns = 5;
constexpr int kRows = 7;

// Rows from the top, 5 bits each, the leftmost dot in the highest bit.
struct Glyph {
  char sign;
  uint8_t rows[kRows];
};
constexpr Glyph kGlyphs[] = {
    {'0', {14, 17, 19, 21, 25, 17, 14}}, {'1', {4, 12, 4, 4, 4, 4, 14}},
    {'2', {14, 17, 1, 2, 4, 8, 31}},     {'3', {31, 2, 4, 2, 1, 17, 14}},
    {'4', {2, 6, 10, 18, 31, 2, 2}},     {'5', {31, 16, 30, 1, 1, 17, 14}},
    {'6', {6, 8, 16, 30, 17, 17, 14}},   {'7', {31, 1, 2, 4, 8, 8, 8}},
    {'8', {14, 17, 17, 14, 17, 17, 14}}, {'9', {14, 17, 17, 15, 1, 2, 12}},
    {'A', {14, 17, 17, 31, 17, 17, 17}}, {'B', {30, 17, 17, 30, 17, 17, 30}},
    {'C', {14, 17, 16, 16, 16, 17, 14}}, {'D', {28, 18, 17, 17, 17, 18, 28}},
    {'E', {31, 16, 16, 30, 16, 16, 31}}, {'F', {31, 16, 16, 30, 16, 16, 16}},
    {'G', {14, 17, 16, 23, 17, 17, 15}}, {'H', {17, 17, 17, 31, 17, 17, 17}},
    {'I', {14, 4, 4, 4, 4, 4, 14}},      {'J', {7, 2, 2, 2, 2, 18, 12}},
    {'K', {17, 18, 20, 24, 20, 18, 17}}, {'L', {16, 16, 16, 16, 16, 16, 31}},
    {'M', {17, 27, 21, 21, 17, 17, 17}}, {'N', {17, 17, 25, 21, 19, 17, 17}},
    {'O', {14, 17, 17, 17, 17, 17, 14}}, {'P', {30, 17, 17, 30, 16, 16, 16}},
    {'Q', {14, 17, 17, 17, 21, 18, 13}}, {'R', {30, 17, 17, 30, 20, 18, 17}},
    {'S', {15, 16, 16, 14, 1, 1, 30}},   {'T', {31, 4, 4, 4, 4, 4, 4}},
    {'U', {17, 17, 17, 17, 17, 17, 14}}, {'V', {17, 17, 17, 17, 17, 10, 4}},
    {'W', {17, 17, 17, 21, 21, 21, 10}}, {'X', {17, 17, 10, 4, 10, 17, 17}},
    {'Y', {17, 17, 17, 10, 4, 4, 4}},    {'Z', {31, 1, 2, 4, 8, 16, 31}},
    {'.', {0, 0, 0, 0, 0, 12, 12}},      {',', {0, 0, 0, 0, 12, 4, 8}},
    {':', {0, 12, 12, 0, 12, 12, 0}},    {'-', {0, 0, 0, 31, 0, 0, 0}},
    {'+', {0, 4, 4, 31, 4, 4, 0}},       {'/', {0, 1, 2, 4, 8, 16, 0}},
    {'%', {24, 25, 2, 4, 8, 19, 3}},     {'(', {2, 4, 8, 8, 8, 4, 2}},
    {')', {8, 4, 2, 2, 2, 4, 8}},        {'=', {0, 0, 31, 0, 31, 0, 0}},
};

const Glyph* find_glyph(char sign) {
  const char capital = static_cast<char>(std::toupper(static_cast<unsigned char>(sign)));
  for (const Glyph& glyph : kGlyphs) {
    if (glyph.sign == capital) return &glyph;
  }
  return nullptr;
}

uint8_t* pixel_at(roadnet::Picture& picture, int x, int y) {
  if (x < 0 || y < 0 || x >= picture.width || y >= picture.height) return nullptr;
  return picture.rgb.data() +
         3 * (static_cast<size_t>(y) * static_cast<size_t>(picture.width) + static_cast<size_t>(x));
}

void fill(roadnet::Picture& picture, int x, int y, int size, roadnet::Ink ink) {
  for (int dy = 0; dy < size; ++dy) {
    for (int dx = 0; dx < size; ++dx) {
      if (uint8_t* pixel = pixel_at(picture, x + dx, y + dy)) {
        pixel[0] = ink.r;
        pixel[1] = ink.g;
        pixel[2] = ink.b;
      }
    }
  }
}

void darken(roadnet::Picture& picture, int x, int y, int width, int height) {
  for (int dy = 0; dy < height; ++dy) {
    for (int dx = 0; dx < width; ++dx) {
      if (uint8_t* pixel = pixel_at(picture, x + dx, y + dy)) {
        for (int c = 0; c < 3; ++c) pixel[c] = static_cast<uint8_t>(pixel[c] / 4);
      }
    }
  }
}

}  // namespace

void draw_text(roadnet::Picture& picture, int x, int y, int scale, std::string_view text,
               roadnet::Ink ink) {
  const int advance = (kColumns + 1) * scale;
  darken(picture, x - 2 * scale, y - 2 * scale, static_cast<int>(text.size()) * advance + 3 * scale,
         (kRows + 4) * scale);
  for (size_t i = 0; i < text.size(); ++i) {
    const Glyph* glyph = find_glyph(text[i]);
    if (glyph == nullptr) continue;
    const int left = x + static_cast<int>(i) * advance;
    for (int row = 0; row < kRows; ++row) {
      for (int column = 0; column < kColumns; ++column) {
        if ((glyph->rows[row] >> (kColumns - 1 - column) & 1) == 0) continue;
        fill(picture, left + column * scale, y + row * scale, scale, ink);
      }
    }
  }
}

void draw_inset(roadnet::Picture& picture, int x, int y, const roadnet::Picture& small) {
  constexpr int kFrame = 3;
  for (int dy = -kFrame; dy < small.height + kFrame; ++dy) {
    for (int dx = -kFrame; dx < small.width + kFrame; ++dx) {
      uint8_t* to = pixel_at(picture, x + dx, y + dy);
      if (to == nullptr) continue;
      const bool inside = dx >= 0 && dy >= 0 && dx < small.width && dy < small.height;
      const size_t from =
          3 * (static_cast<size_t>(std::max(dy, 0)) * static_cast<size_t>(small.width) +
               static_cast<size_t>(std::max(dx, 0)));
      for (size_t c = 0; c < 3; ++c) to[c] = inside ? small.rgb[from + c] : uint8_t{235};
    }
  }
}

roadnet::Picture scaled(const roadnet::Picture& picture, int width, int height) {
  roadnet::Picture result{width, height, {}};
  result.rgb.resize(3 * static_cast<size_t>(width) * static_cast<size_t>(height));
  for (int y = 0; y < height; ++y) {
    const int top = y * picture.height / height;
    const int bottom = std::max((y + 1) * picture.height / height, top + 1);
    for (int x = 0; x < width; ++x) {
      const int left = x * picture.width / width;
      const int right = std::max((x + 1) * picture.width / width, left + 1);
      int sums[3] = {0, 0, 0};
      for (int v = top; v < bottom; ++v) {
        for (int u = left; u < right; ++u) {
          for (int c = 0; c < 3; ++c) {
            sums[c] +=
                picture.rgb[3 * (static_cast<size_t>(v) * static_cast<size_t>(picture.width) +
                                 static_cast<size_t>(u)) +
                            static_cast<size_t>(c)];
          }
        }
      }
      const int count = (bottom - top) * (right - left);
      for (int c = 0; c < 3; ++c) {
        result.rgb[3 * (static_cast<size_t>(y) * static_cast<size_t>(width) +
                        static_cast<size_t>(x)) +
                   static_cast<size_t>(c)] = static_cast<uint8_t>((sums[c] + count / 2) / count);
      }
    }
  }
  return result;
}

}  // namespace camshaft::demo
