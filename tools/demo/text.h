// SPDX-License-Identifier: MIT
// Text on pictures: a 5x7 bitmap font of capitals, digits and a few signs.
#pragma once

#include <string_view>

#include "models/roadnet/overlay.h"

namespace camshaft::demo {

// Draws `text` (small letters as capitals, unknown signs as blanks) with its upper left corner at
// (x, y), every dot `scale` pixels wide, on a darkened box. What is outside the picture is cut off.
void draw_text(roadnet::Picture& picture, int x, int y, int scale, std::string_view text,
               roadnet::Ink ink);

// Copies `small` into `picture` at (x, y), with a thin frame.
void draw_inset(roadnet::Picture& picture, int x, int y, const roadnet::Picture& small);

// The picture at another size, by averaging over the pixels that fall together.
roadnet::Picture scaled(const roadnet::Picture& picture, int width, int height);

}  // namespace camshaft::demo
