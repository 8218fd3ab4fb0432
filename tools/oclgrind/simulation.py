# SPDX-License-Identifier: MIT
"""A launch as files for oclgrind-kernel: NAME.cl and NAME.sim.

Each argument is a buffer of exactly its own size, so that an access beyond it is out of bounds.
What a kernel reads has values, so that what is said to be uninitialised is the kernel's own doing.
What it writes has none in quick checks, so that reading it back too early is found; in whole checks
it holds PATTERN, so that words which nobody wrote are found.
"""

import os
import re

PATTERN = 0x7fa5a5a5  # a NaN that arithmetic doesn't make
STEP = 2.0 ** -20  # between floats, of which there may then be 2^24, all different and below 16
HALF_ONE = 0x3c00
ITEMS_TOGETHER = 64  # of kernels without groups, at most
EVENLY = 6  # parts that a quick check spreads over the launch
MOST_PARTS = {True: 14, False: 160}  # of a quick check: of groups, of single items


def fill(argument):
    """The values of an argument that is read, in oclgrind-kernel's words."""
    if argument.element == "float" and argument.size_bytes % 4 == 0:
        count = argument.size_bytes // 4
        if count > 2 ** 24:
            return "float fill=0.5"
        first, last = -(count // 2), count - 1 - count // 2
        return "float range=%.20f:%.20f:%.20f" % (first * STEP, STEP, last * STEP)
    if argument.element == "double":
        return "double fill=0.5"
    if argument.element == "ushort":  # halves, mostly
        return "ushort fill=%d" % HALF_ONE
    return "%s fill=%d" % (argument.element, 1 if argument.element.endswith("char") else 0)


def buffer_of(argument, is_whole):
    """An argument's two lines: the buffer, and the offset at which it begins."""
    if not argument.is_written:
        content = fill(argument)
    elif is_whole and argument.size_bytes % 4 == 0:
        content = "uint hex dump fill=%x" % PATTERN
    else:
        content = "uchar noinit"
    return "<size=%d %s>\n<size=8 ulong fill=0>\n" % (argument.size_bytes, content)


def chosen_parts(launch):
    """Groups (or items, where a kernel has no groups) for a quick check: the first, the last, some
    between, and those beside the borders of the axes, which the kernel's text divides by."""
    count = launch.groups
    last = count - 1
    parts = [0, last]
    parts += [last * i // (EVENLY - 1) for i in range(1, EVENLY - 1)]
    divisors = {int(d) for d in re.findall(r"[/%] (\d+)", launch.text)}
    factors = {1} | ({int(f) for f in re.findall(r"pt \* (\d+)", launch.text)}
                     if launch.group > 1 else set())
    # Of the largest first: the borders of the outer axes.
    strides = sorted({d // f for d in divisors for f in factors if 1 < d // f < count},
                     reverse=True)
    for stride in strides:
        parts += [stride - 1, stride, count - stride, count - stride - 1]
    return sorted(set(list(dict.fromkeys(parts))[:MOST_PARTS[launch.group > 1]]))


def quick_text(launch, parts):
    """The kernel's text, with only these parts left to run."""
    return ("__constant uint chosen_parts[] = {%s};\n"
            "#define get_group_id(axis) chosen_parts[get_group_id(axis)]\n"
            "#define get_global_id(axis) chosen_parts[get_global_id(axis)]\n" % ", ".join(
                map(str, parts))) + launch.text


def together(items, group):
    """How many items oclgrind runs as a group."""
    return group if group > 1 else max(n for n in range(1, ITEMS_TOGETHER + 1) if items % n == 0)


def write_simulation(launch, folder, name, is_whole):
    """Writes NAME.cl and NAME.sim; how many groups (or items) of the launch they run."""
    parts = list(range(launch.groups)) if is_whole else chosen_parts(launch)
    with open(os.path.join(folder, name + ".cl"), "w", encoding="utf-8") as f:
        f.write(launch.text if is_whole else quick_text(launch, parts))
    items = len(parts) * launch.group
    with open(os.path.join(folder, name + ".sim"), "w", encoding="utf-8") as f:
        f.write("%s.cl\n%s\n%d 1 1\n%d 1 1\n" % (name, launch.name, items,
                                                 together(items, launch.group)))
        f.write("".join(buffer_of(argument, is_whole) for argument in launch.arguments))
    return len(parts)
