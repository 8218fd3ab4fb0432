# SPDX-License-Identifier: MIT
"""ncnn: converted by pnnx with float32 weights; packed layouts, Winograd and sgemm convolutions on
(its defaults), no narrow storage. It has no batch axis."""

import os
import shutil
import subprocess

import ncnn
import numpy as np

from bench_peers.places import one_sentence

PNNX = os.path.join(os.path.dirname(os.path.dirname(ncnn.__file__)), "pnnx", "pnnx")
NARROW = ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_packed",
          "use_bf16_storage")
ELEMENT = {"float32": "f32", "uint8": "u8", "int8": "i8", "int32": "i32", "int64": "i64"}


class Engine:
    """A net; each run makes an extractor, which is how ncnn is used."""

    @staticmethod
    def convert(model, inputs, folder, threads):
        """MODEL.ncnn.param beside MODEL.ncnn.bin, in a folder of their own."""
        here = os.path.join(folder, "ncnn")
        os.makedirs(here, exist_ok=True)
        with np.load(inputs) as arrays:
            shapes = ",".join("[%s]%s" % (",".join(map(str, arrays[name].shape)),
                                          ELEMENT[arrays[name].dtype.name])
                              for name in arrays.files)
        shutil.copyfile(model, os.path.join(here, "model.onnx"))  # pnnx writes beside it
        done = subprocess.run([PNNX, "model.onnx", "inputshape=" + shapes, "fp16=0"], cwd=here,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        result = os.path.join(here, "model.ncnn.param")
        if done.returncode != 0 or not os.path.exists(result):
            raise RuntimeError("pnnx ended with %d: %s" % (done.returncode,
                                                          one_sentence(done.stdout)))
        return result

    def __init__(self, path, inputs, output_names, threads, cpus):
        self._net = ncnn.Net()
        options = self._net.opt
        options.num_threads = threads
        options.use_vulkan_compute = False
        options.lightmode = True
        options.use_packing_layout = True
        options.use_winograd_convolution = True
        options.use_sgemm_convolution = True
        for name in NARROW:
            setattr(options, name, False)
        for failed in (self._net.load_param(path),
                       self._net.load_model(path[:-len("param")] + "bin")):
            if failed:
                raise RuntimeError("ncnn can't load what pnnx made of the model")
        self._inputs = [ncnn.Mat(np.ascontiguousarray(value[0])).clone()
                        for value in inputs.values()]
        if len(self._inputs) != len(self._net.input_names()):
            raise RuntimeError("pnnx left %d of %d inputs" % (len(self._net.input_names()),
                                                             len(self._inputs)))
        self._outputs = []

    def run(self):
        """Reads every output in turn, which computes what it needs."""
        extractor = self._net.create_extractor()
        for name, value in zip(self._net.input_names(), self._inputs):
            extractor.input(name, value)
        outputs = []
        for name in self._net.output_names():
            failed, value = extractor.extract(name)
            if failed:
                raise RuntimeError("ncnn's extract of %s failed with %d" % (name, failed))
            outputs.append(value)
        self._outputs = outputs

    def outputs(self):
        """Copies."""
        return [np.array(value) for value in self._outputs]
