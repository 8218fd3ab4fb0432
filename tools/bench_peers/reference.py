# SPDX-License-Identifier: MIT
"""What the outputs should be: by the oracle, which keeps doubles from one node to the next."""

import os
import shutil
import subprocess

import numpy as np
import onnx
from onnx import numpy_helper

from bench_peers.places import CONFORMANCE, Absent, one_sentence

LIMIT_S = 300


def is_newer(path, others):
    """Whether a file is there and newer than others."""
    return os.path.exists(path) and all(os.path.getmtime(path) >= os.path.getmtime(other)
                                        for other in others)


def write_case(prepared, folder):
    """The model and its inputs in the layout of the ONNX backend tests."""
    shutil.rmtree(folder, ignore_errors=True)
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)
    os.symlink(os.path.abspath(prepared.model), os.path.join(folder, "model.onnx"))
    with np.load(prepared.inputs) as arrays:
        for i, name in enumerate(arrays.files):
            with open(os.path.join(data, "input_%d.pb" % i), "wb") as f:
                f.write(numpy_helper.from_array(arrays[name], name).SerializeToString())
    return data


def run_oracle(prepared):
    """Writes and returns the file of outputs by number."""
    folder = os.path.join(prepared.folder, "oracle")
    data = write_case(prepared, folder)
    done = subprocess.run([CONFORMANCE, "--on", "exact", "--limit", str(LIMIT_S), folder],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    count = len(onnx.load(prepared.model, load_external_data=False).graph.output)
    arrays = []
    for i in range(count):
        path = os.path.join(data, "exact_%d.pb" % i)
        if not os.path.exists(path):
            raise Absent("the oracle has no result for %s: %s" % (
                prepared.name, one_sentence(done.stdout.replace("\t", " "))))
        with open(path, "rb") as f:
            arrays.append(numpy_helper.to_array(onnx.TensorProto.FromString(f.read())))
    result = os.path.join(prepared.folder, "expected.npz")
    np.savez(result, *arrays)
    return result


def read_arrays(path):
    """The arrays of an .npz file, in order."""
    with np.load(path) as arrays:
        return [arrays[name] for name in arrays.files]


def expected_outputs(prepared):
    """The outputs in order, computed where model, inputs or oracle changed since. Raises Absent
    where there is no oracle, or none of its results."""
    if not os.path.exists(CONFORMANCE):
        raise Absent("%s is not there: scons builds it" % CONFORMANCE)
    path = os.path.join(prepared.folder, "expected.npz")
    if not is_newer(path, (prepared.model, prepared.inputs, CONFORMANCE)):
        path = run_oracle(prepared)
    return read_arrays(path)
