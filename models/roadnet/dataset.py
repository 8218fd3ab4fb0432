# SPDX-License-Identifier: MIT
"""Reads what roadgen writes. See roadgen_main.cc for the files and truth.h for the records."""

import glob
import json
import os
import subprocess

import numpy as np

INPUT_SHAPE = (6, 128, 256)  # channels, rows, columns; see frame.h
HELD_OUT_SEED = 1_000_000_000  # drive.h: kHeldOutIndex


class Layout:
    """Distances and output slices, as roadgen describes them."""

    def __init__(self, description):
        self.description = description
        self.distances_m = np.array(description["distances_m"], np.float32)
        self.slices = {s["name"]: slice(s["offset"], s["offset"] + int(np.prod(s["shape"])))
                       for s in description["slices"]}
        self.size = max(s.stop for s in self.slices.values())

    @classmethod
    def ask(cls, roadgen):
        """The layout that a roadgen program was built with."""
        return cls(json.loads(subprocess.run([roadgen, "--describe"], check=True,
                                             capture_output=True, text=True).stdout))

    def get(self, vectors, name):
        """One slice of [views, size], without its last axis where it is a single value."""
        part = vectors[:, self.slices[name]]
        return part[:, 0] if part.shape[1] == 1 else part


def shards(prefix):
    """Names (without suffix) of the complete shards, in order."""
    ending = ".input.bin"
    return [p[:-len(ending)] for p in sorted(glob.glob(glob.escape(prefix) + "-*" + ending))]


def read_shard(name, size):
    """Inputs uint8 [views, 6, 128, 256] and truth float32 [views, size] of one shard."""
    inputs = np.fromfile(name + ".input.bin", np.uint8).reshape(-1, *INPUT_SHAPE)
    truth = np.fromfile(name + ".truth.bin", "<f4").reshape(-1, size)
    if len(inputs) != len(truth):
        raise ValueError("%s: %d inputs but %d truths" % (name, len(inputs), len(truth)))
    return inputs, truth


def make_views(roadgen, prefix, seed, count, threads=0):
    """Runs roadgen to its end and reads all that it made."""
    os.makedirs(os.path.dirname(prefix), exist_ok=True)
    subprocess.run([roadgen, "--count", str(count), "--seed", str(seed), "--out", prefix,
                    "--threads", str(threads)], check=True)
    layout = Layout.ask(roadgen)
    parts = [read_shard(name, layout.size) for name in shards(prefix)]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), layout
