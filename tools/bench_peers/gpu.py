#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plans on a GPU in turn with PyTorch's CUDA graph in float16, in one process.

    gpu.py [--device opencl:NVIDIA] [--rounds N] [--json FILE] roadnet=A.plan resnet18=B.plan ...

Needs PyTorch, torchvision and an NVIDIA GPU. Several plans of a network are compared with the same
graph. PyTorch's network is captured in NCHW and in NHWC, with cuDNN choosing its algorithms by
measuring, and the faster one counts. A run of ours takes the input from the host's memory and
leaves the outputs there; a graph's input and output stay on the GPU.
"""

import argparse
import json
import os
import sys
import time

import numpy as np
import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tools"), os.path.join(ROOT, "models", "roadnet")]

from bench_peers.engines import camshaft  # noqa: E402

WARM_RUNS = 200
BURST = 50  # runs of one before it is another's turn


def roadnet():
    """The module and an input."""
    from net import OFFSETS, RoadNet
    module = RoadNet(np.zeros(OFFSETS, np.float32), np.ones(OFFSETS, np.float32))
    return Halved(module), torch.randint(0, 255, (1, 6, 128, 256), dtype=torch.uint8)


class Halved(torch.nn.Module):
    """roadnet, whose own functions compute some steps in float32, from halves only."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, image):
        module = self.module
        hidden = module.hidden(module.trunk(image.half() * (1.0 / 64.0) - 2.0))
        return torch.cat([module.offsets(hidden), torch.exp(module.lead_distance(hidden)),
                          torch.sigmoid(module.probabilities(hidden))], dim=1)


def resnet18():
    """The module and an input."""
    import torchvision
    return torchvision.models.resnet18(weights=None), torch.randn(1, 3, 224, 224).half()


NETWORKS = {"roadnet": roadnet, "resnet18": resnet18}


class Graph:
    """A network in float16 as a CUDA graph."""

    def __init__(self, make, layout):
        module, x = make()
        module = module.half().eval().cuda().to(memory_format=layout)
        x = x.cuda().contiguous(memory_format=layout)
        with torch.no_grad():
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(5):
                    module(x)
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.output = module(x)
        self.kept = module, x

    def run(self):
        self.graph.replay()
        torch.cuda.synchronize()


def random_inputs(network):
    """What a plan of the network reads, by name."""
    random = np.random.default_rng(1)
    if network == "roadnet":
        return {"image": random.integers(0, 255, (1, 6, 128, 256), dtype=np.uint8)}
    return {"input": random.normal(size=(1, 3, 224, 224)).astype(np.float32)}


class Plan(camshaft.Engine):
    """A session on the GPU."""

    def __init__(self, path, network, device):
        super().__init__(path, random_inputs(network), [], 1, sorted(os.sched_getaffinity(0)),
                         device=device)


def measure(subjects, rounds):
    """{name: milliseconds of each run}, in turn."""
    times = {name: [] for name in subjects}
    for subject in subjects.values():
        for _ in range(WARM_RUNS):
            subject.run()
    for _ in range(rounds):
        for name, subject in subjects.items():
            for _ in range(BURST):
                start_ns = time.perf_counter_ns()
                subject.run()
                times[name].append((time.perf_counter_ns() - start_ns) * 1e-6)
    return times


def compare(network, plans, options):
    """The figures of a network: of PyTorch's graphs and of each plan."""
    subjects = {"PyTorch NCHW": Graph(NETWORKS[network], torch.contiguous_format),
                "PyTorch NHWC": Graph(NETWORKS[network], torch.channels_last)}
    subjects.update({os.path.basename(path): Plan(path, network, options.device) for path in plans})
    times = measure(subjects, options.rounds)
    figures = {name: dict(zip(("p50_ms", "p99_ms"), np.percentile(runs, (50, 99)).tolist()))
               for name, runs in times.items()}
    best = min(figures[name]["p50_ms"] for name in list(subjects)[:2])
    for name, row in figures.items():
        row["ratio"] = row["p50_ms"] / best
        print("%-10s %-28s p50 %.4f ms  p99 %.4f ms  %.2f of PyTorch's faster" % (
            network, name, row["p50_ms"], row["p99_ms"], row["ratio"]), flush=True)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plans", nargs="+", metavar="NETWORK=PLAN")
    parser.add_argument("--device", default="opencl")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    by_network = {}
    for text in options.plans:
        network, _, path = text.partition("=")
        if network not in NETWORKS or not path:
            parser.error("%s: say NETWORK=PLAN; networks are %s" % (text, ", ".join(NETWORKS)))
        by_network.setdefault(network, []).append(path)
    results = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name()}
    for network, plans in by_network.items():
        results[network] = compare(network, plans, options)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
