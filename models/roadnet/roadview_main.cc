// SPDX-License-Identifier: MIT
//
// Writes one moment of a drive as a PPM picture: roadview SEED TIME_S OUT.ppm [frame|model] [truth]
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <vector>

#include "models/roadnet/drive.h"
#include "models/roadnet/frame.h"
#include "models/roadnet/overlay.h"
#include "models/roadnet/truth.h"

namespace {

using namespace camshaft::roadnet;

constexpr Ink kLineInk{40, 230, 90};
constexpr Ink kPathInk{60, 160, 255};

Picture view(const Renderer& renderer, bool model, bool with_truth) {
  const Scene& scene = renderer.scene();
  const Truth truth = compute_truth(scene);
  Picture picture;
  if (model) {
    std::vector<uint8_t> input(kInputBytes);
    const InputBytes bytes(input.data(), kInputBytes);
    render_model_view(renderer, bytes);
    picture = picture_of_input(bytes);
  } else {
    picture = picture_of_frame(render_frame(renderer), road_camera_layout());
  }
  if (with_truth) {
    const CameraPose camera = model ? model_view_pose() : renderer.camera();
    draw_answer(picture, truth, camera, &scene.road, kLineInk, kPathInk, model ? 1.0f : 4.0f);
  }
  return picture;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: roadview SEED TIME_S OUT.ppm [frame|model] [truth]\n");
    return 2;
  }
  const Drive drive(std::strtoull(argv[1], nullptr, 10));
  const Renderer renderer(drive.scene(std::strtod(argv[2], nullptr)));
  const bool model = argc > 4 && std::string_view(argv[4]) == "model";
  const bool with_truth = argc > 5 && std::string_view(argv[5]) == "truth";
  std::ofstream out(argv[3], std::ios::binary);
  out << to_ppm(view(renderer, model, with_truth));
  out.flush();
  if (!out) {
    std::fprintf(stderr, "roadview: cannot write %s\n", argv[3]);
    return 1;
  }
  return 0;
}
