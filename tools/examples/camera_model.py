# SPDX-License-Identifier: MIT
"""Writes the model of tools/examples/opencl_camera.cc: python3 tools/examples/camera_model.py FILE.

One input is a camera's whole NV12 buffer as the camera fills it, padding and all; that pixels lie in
planes, and where, is said by slices inside the model, so that kernels read the buffer in place. The
other is a second camera's RGBA picture, at half the size, which `camshaft compile --image-input
picture` has kernels read as an image.
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# 1928x1208; rows of 2048 bytes; chroma (U, V, U, V, ...) from row 1216 on; whole pages.
WIDTH, HEIGHT, STRIDE, CHROMA_ROW, ROWS = 1928, 1208, 2048, 1216, 1834
STEP = 4  # every fourth pixel of a crop of 1920x1200
PICTURE_WIDTH, PICTURE_HEIGHT = 964, 604  # every second pixel of a crop of 960x600


def make_model():
    nodes, constants = [], []

    def constant(name, values, dtype=np.int64):
        constants.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def node(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def plane(name, first_row, row_step, first_column):
        """Bytes of the buffer, u8 [1, 1, 300, 480]."""
        start = constant(name + "_start", [first_row, first_column])
        end = constant(name + "_end", [first_row + 300 * row_step, first_column + 480 * STEP])
        steps = constant(name + "_step", [row_step, STEP])
        cut = node("Slice", ["frame", start, end, "axes", steps], name + "_cut")
        return node("Reshape", [cut, "plane_shape"], name)

    constant("axes", [0, 1])
    constant("plane_shape", [1, 1, 300, 480])
    constant("half", 128, np.float32)
    planes = [plane("y", 4, STEP, 4),
              plane("u", CHROMA_ROW + 2, STEP // 2, 4),
              plane("v", CHROMA_ROW + 2, STEP // 2, 5)]
    picture = node("Slice", ["picture", constant("picture_start", [2, 2, 0]),
                             constant("picture_end", [602, 962, 3]), constant("picture_axes", [1, 2, 3]),
                             constant("picture_step", [2, 2, 1])], "picture_cut")
    planes.append(node("Transpose", [picture], "colours", perm=[0, 3, 1, 2]))
    pixels = node("Cast", [node("Concat", planes, "pixels", axis=1)], "levels", to=TensorProto.FLOAT)
    centred = node("Div", [node("Sub", [pixels, "half"], "centred"), "half"], "input")
    random = np.random.default_rng(1)
    weights = constant("weights", random.normal(size=(8, 6, 3, 3)) / 5, np.float32)
    convolved = node("Conv", [centred, weights], "convolved", strides=[2, 2], pads=[1, 1, 1, 1])
    node("AveragePool", [node("Relu", [convolved], "features")], "grid", kernel_shape=[30, 30],
         strides=[30, 30])
    graph = helper.make_graph(
        nodes, "opencl_camera",
        [helper.make_tensor_value_info("frame", TensorProto.UINT8, [ROWS, STRIDE]),
         helper.make_tensor_value_info("picture", TensorProto.UINT8,
                                       [1, PICTURE_HEIGHT, PICTURE_WIDTH, 4])],
        [helper.make_tensor_value_info("grid", TensorProto.FLOAT, [1, 8, 5, 8])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


if __name__ == "__main__":
    with open(sys.argv[1], "wb") as file:
        file.write(make_model().SerializeToString(deterministic=True))
