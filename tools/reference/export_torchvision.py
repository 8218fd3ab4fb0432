#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports torchvision's networks for tests/e2e/real_networks_test.py.

    export_torchvision.py FOLDER [NAME...]

Needs a Python with torch, torchvision and onnxscript, which is not the tests' own. Weights are
random, with a fixed seed.
Point CAMSHAFT_TORCHVISION to FOLDER (by default build/torchvision) when the tests run.
"""

import inspect
import os
import sys

import torch
from torchvision import models

NETWORKS = {
    "resnet50": (models.resnet50, 224),
    "mobilenet_v3_large": (models.mobilenet_v3_large, 224),
    "efficientnet_b0": (models.efficientnet_b0, 224),
    "shufflenet_v2_x1_0": (models.shufflenet_v2_x1_0, 224),
    "regnet_y_400mf": (models.regnet_y_400mf, 224),
    "vit_b_16": (models.vit_b_16, 224),
    "deeplabv3": (models.segmentation.deeplabv3_mobilenet_v3_large, 256),
    "ssdlite320": (models.detection.ssdlite320_mobilenet_v3_large, 320),
}
OPSET = 18


def is_detector(name):
    """Detectors take a list of pictures, and only tracing follows them."""
    return name.startswith("ssd")


def make_network(name, size):
    """A network with seeded weights, ready for inference."""
    make, _ = NETWORKS[name]
    torch.manual_seed(0)
    has_backbone = "weights_backbone" in inspect.signature(make).parameters
    network = make(weights=None, **({"weights_backbone": None} if has_backbone else {}))
    for module in network.modules():  # ViT's last layer begins as zeros: it would say nothing
        if isinstance(module, torch.nn.Linear) and not module.weight.any():
            torch.nn.init.trunc_normal_(module.weight, std=0.02)
    settle(network.backbone if is_detector(name) else network, size)
    return network.eval()


def settle(network, size):
    """Gives batch normalisation the statistics of some pictures: with others, random networks say
    the same of every picture."""
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.reset_running_stats()
            module.momentum = None  # the plain mean over the batches
    pictures = torch.nn.functional.interpolate(torch.rand(4, 3, 9, 9), size=(size, size))
    network.train()
    with torch.no_grad():
        network(pictures)


def export(name, folder):
    """Writes FOLDER/NAME.onnx."""
    size = NETWORKS[name][1]
    picture = torch.rand(1, 3, size, size)
    inputs = ([picture[0]],) if is_detector(name) else (picture,)
    torch.onnx.export(make_network(name, size), inputs, os.path.join(folder, name + ".onnx"),
                      dynamo=not is_detector(name), opset_version=OPSET, input_names=["x"],
                      external_data=False)


def main(folder, *names):
    torch.set_num_threads(1)
    os.makedirs(folder, exist_ok=True)
    for name in names or NETWORKS:
        export(name, folder)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
