# SPDX-License-Identifier: MIT
"""The launches of a plan for the target `opencl`: each kernel's text, its sizes and its memory."""

import json
import re
import subprocess
from dataclasses import dataclass

HEAD = "#pragma OPENCL FP_CONTRACT OFF\n"  # of a plan's program; a kernel's own text is without it


@dataclass(frozen=True)
class Argument:
    """Memory that a kernel gets: so many bytes, as elements of this OpenCL type."""

    size_bytes: int
    element: str
    is_written: bool


@dataclass(frozen=True)
class Launch:
    """One kernel with its sizes. `items` is how many it has in all; `group` of them are a group,
    1 where the driver may choose."""

    name: str  # of the kernel's entry
    text: str
    items: int
    group: int
    arguments: tuple
    cost: int = 1  # in proportion to how long it takes

    @property
    def groups(self):
        """How many parts the launch can be cut into."""
        return self.items // self.group


class Unsupported(Exception):
    """Launches that oclgrind-kernel can't be given: the reason."""


def arguments_of(name, text, sizes):
    """The memory of a kernel: pairs of a pointer to bytes and an offset, in the order of the plan;
    the kernel's text casts each to what it holds."""
    signature = re.search(r"__kernel [^{]*\b%s\(([^)]*)\)" % re.escape(name), text)
    if signature is None:
        raise Unsupported("%s: no such kernel in its text" % name)
    pointers = re.findall(r"__global (const )?uchar\* restrict (\w+), ulong \w+", signature[1])
    if len(pointers) != len(sizes) or "image2d_t" in signature[1]:
        raise Unsupported("%s takes images, which oclgrind-kernel can't make" % name)
    casts = re.findall(r"\(__global (?:const )?(?:\w+ )?(\w+)\* ?\w*\)\((\w+) \+ ", text)
    elements = {parameter: element for element, parameter in reversed(casts)}
    return tuple(Argument(size, elements.get(parameter, "uchar"), not constant)
                 for size, (constant, parameter) in zip(sizes, pointers))


def check_arena(kernels, launches):
    """Sentences about what a launch reads of the arena and no launch before it has written. Each
    launch is checked alone, on memory that has values: this is why it may be."""
    written, wrong = set(), []
    for kernel, launch in zip(kernels, launches):
        spans = [(given["offset"], given["offset"] + given["bytes"], argument)
                 for given, argument in zip(kernel["launch"]["arguments"], launch.arguments)
                 if given["space"] == "arena"]
        # In units of the arena's alignment of arguments.
        for begin, end, argument in spans:
            if not argument.is_written and any(unit not in written
                                               for unit in range(begin // 64, -(-end // 64))):
                wrong.append("%s reads bytes %d to %d of the arena, which are not all written" % (
                    launch.name, begin, end))
        for begin, end, argument in spans:
            if argument.is_written:
                written.update(range(begin // 64, -(-end // 64)))
    return wrong


def read_launches(camshaft, plan):
    """The launches of a plan, equal ones once, and sentences about its arena (check_arena)."""
    def inspect(*more):
        done = subprocess.run([camshaft, "inspect", plan, "--target", "opencl", "--json", *more],
                              check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    kernels = [k for k in inspect("--kernels")["kernels"] if k["kernel"] != "copy"]
    texts = {}
    launches = []
    for kernel in kernels:
        name, launch = kernel["kernel"], kernel["launch"]
        if name not in texts:
            texts[name] = HEAD + inspect("--source", name)["source"]
        if launch["grid"][1:] + launch["group"][1:] != [1] * 4:
            raise Unsupported("%s has more than one axis" % name)
        sizes = [argument["bytes"] for argument in launch["arguments"]]
        group = launch["group"][0]
        launches.append(Launch(name, texts[name], launch["grid"][0] * group, group,
                               arguments_of(name, texts[name], sizes),
                               max(kernel["flops"], kernel["bytes"])))
    return list(dict.fromkeys(launches)), check_arena(kernels, launches)
