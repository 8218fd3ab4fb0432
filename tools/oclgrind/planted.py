# SPDX-License-Identifier: MIT
"""Kernels with faults that must be found, in whole checks and in quick ones, before anything else
is believed."""

from oclgrind.launches import Launch, arguments_of
from oclgrind.runs import run_simulation
from oclgrind.simulation import write_simulation

ITEMS = 64
GROUPS = 3

# What an item does, and what must be said of it; nothing, where it is right.
BODIES = {
    # The tensor ends here, though memory of others may follow.
    "out[i] = in[i + 1];": "Invalid read",
    "out[i + 1] = in[i];": "Invalid write",
    "out[i / 2] = in[i] + i;": "data race",
    "out[i / 2] = 1; out[i] = in[i];": "data race",
    "local_part[k] = in[i]; out[i] = local_part[63 - k];": "Uninitialized value",
    "float x; if (in[i] > 2) x = 1; out[i] = x > 0 ? 1 : 2;": "Uninitialized value",
    "float x[2]; x[0] = in[i]; out[i] = x[i % 2];": "Uninitialized value",
    "out[i] = out[i] + in[i];": "Uninitialized value",
    "if (i != 70) out[i] = in[i];": "not written",
    "local_part[k] = in[i]; barrier(CLK_LOCAL_MEM_FENCE); out[i] = local_part[63 - k];": None,
}
# Those that need more than one of the two kinds of check: see PATTERN in simulation.py.
ONLY_QUICK = ("out[i] = out[i] + in[i];",)
ONLY_WHOLE = ("if (i != 70) out[i] = in[i];",)

TEXT = """
__kernel __attribute__((reqd_work_group_size(%d, 1, 1))) void planted(\
__global const uchar* restrict params_0, ulong params_at_0, \
__global uchar* restrict params_1, ulong params_at_1) {
  __local float local_part[%d];
  __global const float* restrict in = (__global const float*)(params_0 + params_at_0);
  __global float* restrict out = (__global float*)(params_1 + params_at_1);
  const int k = get_local_id(0);
  const int i = get_group_id(0) * %d + k;
  %s
}
"""


def make_launch(body):
    """A launch of such items."""
    text = TEXT % (ITEMS, ITEMS, ITEMS, body)
    items = ITEMS * GROUPS
    return Launch("planted", text, items, ITEMS,
                  arguments_of("planted", text, (4 * items, 4 * items)))


def check_planted(folder):
    """(how many faults were looked for, sentences about those that were not found)."""
    wrong, count = [], 0
    for is_whole in (True, False):
        for body, wanted in BODIES.items():
            if body in (ONLY_QUICK if is_whole else ONLY_WHOLE):
                continue
            write_simulation(make_launch(body), folder, "planted", is_whole)
            findings = run_simulation(folder, "planted").findings
            count += wanted is not None
            is_right = not findings if wanted is None else any(wanted in f for f in findings)
            if not is_right:
                wrong.append("'%s' should give %r in a %s check, and gives %s" % (
                    body, wanted, "whole" if is_whole else "quick", findings[:3]))
    return count, wrong
