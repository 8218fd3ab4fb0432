# SPDX-License-Identifier: MIT
"""Real networks out of packages: where their files are, and inputs that mean something to them.

tools/setup.sh puts the packages of tools/requirements-networks.txt into build/networks, without
what they need to run: only the model files are used. Sounds are those of the Debian package
alsa-utils.
"""

import functools
import glob
import os
import sys
import wave
from dataclasses import dataclass, field

import numpy as np
import onnx

from e2e import ROOT

sys.path.insert(0, os.path.join(ROOT, "tools"))

from bench_peers.pictures import photo, text_picture  # noqa: E402
from bench_peers.places import package_file  # noqa: E402

EXPORTED = os.environ.get("CAMSHAFT_TORCHVISION", os.path.join(ROOT, "build", "torchvision"))
SOUNDS = "/usr/share/sounds/alsa"
SOUND_HZ = 48000


@dataclass
class Network:
    """A model and its inputs. Outputs must agree with onnxruntime's within a tolerance; those with
    classes also in the largest along an axis, those with boxes also in the order of the best."""

    name: str
    path: str
    inputs: dict
    frozen: dict = field(default_factory=dict)  # inputs that are known when compiling
    classes: dict = field(default_factory=dict)  # output number -> axis of the classes
    boxes: dict = field(default_factory=dict)  # output number -> rows of scores, one column a box
    # Outputs are lists with a row a detection, best first: rows of equal scores in any order.
    has_detections: bool = False
    steps: int = 1  # runs, each of which feeds state back: see feedback and windows
    feedback: dict = field(default_factory=dict)  # input -> output number of the step before
    windows: dict = field(default_factory=dict)  # input -> its values, one row a step

    def exists(self):
        """Whether the model's file is on this machine."""
        return os.path.exists(self.path)


@functools.cache
def sound():
    """Spoken words, at SOUND_HZ, in [-1, 1]."""
    parts = []
    for path in sorted(glob.glob(os.path.join(SOUNDS, "*_*.wav"))):
        with wave.open(path) as f:
            assert f.getframerate() == SOUND_HZ and f.getnchannels() == 1 and f.getsampwidth() == 2
            parts.append(np.frombuffer(f.readframes(f.getnframes()), "<i2"))
    return np.concatenate(parts).astype(np.float32) / 32768


def sound_at(rate_hz, samples):
    """The beginning of the sound at another rate."""
    positions = np.arange(samples) * (SOUND_HZ / rate_hz)
    words = sound()
    return np.interp(positions, np.arange(len(words)), words).astype(np.float32)


def ocr_networks():
    """PP-OCR: detector, recogniser and classifier of text, each on three sizes."""
    def make(kind, file, height, width, **outputs):
        return Network("ppocr_%s_%dx%d" % (kind, height, width),
                       package_file("rapidocr_onnxruntime", "models", file),
                       {"x": text_picture(height, width)}, **outputs)

    for height, width in ((320, 320), (480, 640), (736, 1280)):
        yield make("detector", "ch_PP-OCRv4_det_infer.onnx", height, width)
    for width in (160, 320, 480):
        yield make("recogniser", "ch_PP-OCRv4_rec_infer.onnx", 48, width, classes={0: 2})
    for width in (96, 192, 320):
        yield make("classifier", "ch_ppocr_mobile_v2.0_cls_infer.onnx", 48, width, classes={0: 1})


def file_bytes():
    """This repository's README as magika looks at files: its beginning and its end."""
    with open(os.path.join(ROOT, "README.md"), "rb") as f:
        data = f.read().strip()
    return np.frombuffer(data[:1024] + data[-1024:], np.uint8).astype(np.int32)[None]


def other_networks():
    """The networks with one run."""
    yield Network("nudenet_320n", package_file("nudenet", "320n.onnx"),
                  {"images": photo(320, 320)}, boxes={0: slice(4, None)})
    yield Network("magika", package_file("magika", "models", "standard_v3_3", "model.onnx"),
                  {"bytes": file_bytes()}, classes={0: 1})
    yield Network("swift_f0", package_file("swift_f0", "model.onnx"),
                  {"audio": sound_at(16000, 16000)[None], "fmin": np.array(46.875, np.float32),
                   "fmax": np.array(2093.75, np.float32)})
    yield Network("basic_pitch",
                  package_file("basic_pitch", "saved_models", "icassp_2022", "nmp.onnx"),
                  {"serving_default_input_2:0": sound_at(22050, 43844)[None, :, None]},
                  classes={0: 2, 1: 2, 2: 2})


def speech_networks():
    """Silero VAD over 100 steps of speech: a window follows the last samples of the one before."""
    for rate_hz, window, context in ((16000, 512, 64), (8000, 256, 32)):
        steps = 100
        samples = np.concatenate([np.zeros(context, np.float32), sound_at(rate_hz, steps * window)])
        windows = np.stack([samples[i * window:(i + 1) * window + context] for i in range(steps)])
        yield Network("silero_vad_%d" % rate_hz,
                      package_file("silero_vad", "data", "silero_vad.onnx"),
                      {"input": windows[:1], "state": np.zeros((2, 1, 128), np.float32)},
                      frozen={"sr": np.array(rate_hz, np.int64)}, steps=steps,
                      feedback={"state": 1}, windows={"input": windows[:, None]})


def light_networks():
    """The nine networks of the onnx package whose weights are constants."""
    folder = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")
    for path in sorted(glob.glob(os.path.join(folder, "*.onnx"))):
        model = onnx.load(path)
        weights = {i.name for i in model.graph.initializer}
        [name] = [i.name for i in model.graph.input if i.name not in weights]
        yield Network(os.path.basename(path)[:-len(".onnx")], path, {name: photo(224, 224)},
                      classes={0: 1})


def torchvision_networks():
    """What tools/reference/export_torchvision.py makes, where it has been run."""
    for name in ("resnet50", "mobilenet_v3_large", "efficientnet_b0", "shufflenet_v2_x1_0",
                 "regnet_y_400mf", "vit_b_16"):
        yield Network("torchvision_" + name, os.path.join(EXPORTED, name + ".onnx"),
                      {"x": photo(224, 224)}, classes={0: 1})
    yield Network("torchvision_deeplabv3", os.path.join(EXPORTED, "deeplabv3.onnx"),
                  {"x": photo(256, 256)}, classes={0: 1})
    yield Network("torchvision_ssdlite320", os.path.join(EXPORTED, "ssdlite320.onnx"),
                  {"x": photo(320, 320)[0]}, has_detections=True)


def all_networks():
    """All of them, in the order of the table."""
    return [*ocr_networks(), *speech_networks(), *other_networks(), *light_networks(),
            *torchvision_networks()]


def weight_bytes(path):
    """What the initializers and constants of a model take."""
    model = onnx.load(path)
    tensors = list(model.graph.initializer)
    tensors += [a.t for node in model.graph.node for a in node.attribute if a.HasField("t")]
    return sum(t.ByteSize() for t in tensors)
