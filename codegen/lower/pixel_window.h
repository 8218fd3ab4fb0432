// SPDX-License-Identifier: MIT
// Windows on GPUs: an item looks at output pixels of its own, so the taps that fall into the
// padding are known when the kernel runs. Their places are moved to the nearest inside the input,
// and what is read there is not used.
#pragma once

#include <vector>

#include "codegen/lower/frame.h"
#include "codegen/lower/window.h"

namespace camshaft::lower {

class PixelWindow {
 public:
  // `is_bordered`, by spatial axis: outside of it the input reads as zeros, which is what the
  // window wants of its padding, so places stay as they are.
  PixelWindow(Kernel& kernel, const Window& window, std::vector<bool> is_bordered = {});

  // Output pixels of one image.
  int64_t pixels() const;
  // Where output pixel `number` of an image is, by spatial axis.
  Index place(ExprId number) const { return delinearize(kernel_, out_, number); }

  struct Pixel {
    ExprId n = ir::kNoExpr;
    Index out;    // by spatial axis
    Index first;  // the place of tap 0 in the input, which may be outside of it
  };
  // Pixel `number` of the batch, images one after the other. Adds variables to `body`.
  Pixel pixel(ExprId number, std::vector<Stmt>& body) const;

  struct Tap {
    Index place;                  // by spatial axis, inside the input (but for bordered axes)
    ExprId inside = ir::kNoExpr;  // bool: whether the tap itself is; kNoExpr: it always is
  };
  // Tap number `tap` of a pixel, row-major over the kernel. Adds variables to `body`.
  Tap tap(const Pixel& pixel, ExprId tap, std::vector<Stmt>& body) const;
  // As a float, how many taps of a pixel are inside the input; or, with `padding`, inside the
  // padded input. At least 1.
  ExprId counted_taps(const Pixel& pixel, bool padding) const;

 private:
  ExprId counted_on_axis(const WindowAxis& axis, ExprId first) const;

  Kernel& kernel_;
  std::vector<WindowAxis> axes_;
  std::vector<bool> is_bordered_;
  ir::Shape out_;
  ir::Shape taps_;
};

// The spatial axes outside of which leaf `x` reads as zeros by bordered_texel(), which is to be
// used where there is one; none if it is no image.
std::vector<bool> is_bordered(const Task& task, NodeId x);

// [n, c, spatial...]
Index channel_index(ExprId n, ExprId c, const Index& spatial);

}  // namespace camshaft::lower
