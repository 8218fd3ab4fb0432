# SPDX-License-Identifier: MIT
"""What an engine costs before and between runs: opening, the first run, memory, time while idle.

Each figure is the median of several processes, the engines' in turn. The file is in the page cache:
the process that converts it has just read or written it, and the first opening isn't counted. Inputs are copied into
the engine's memory while it is opened.
"""

import json
import os
import statistics
import subprocess
from dataclasses import asdict, dataclass, field

from bench_peers.client import EngineFailed
from bench_peers.figures import percentile
from bench_peers.places import CAMSHAFT, DEVICE_CAMSHAFT, Absent
from bench_peers.rounds import convert, open_engine
from bench_peers.table import cell, columns, reason_lines

PROCESSES = 5
RUNS = 10
IDLE_SECONDS = 1
YARDSTICK = "onnxruntime"  # whose time to the first result others are compared with
MIB = 1 << 20
ALLOWED_MIB = 8  # beside weights and arena

# Runs a command and prints its peak memory. A process of its own, since the peak of a child counts
# from before it becomes the command, when it is as large as its parent.
PEAK_OF = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@dataclass
class Row:
    """Of an engine on a network. Memory is what opening and runs add to the process, in MiB; the
    program's is all that the device build's `camshaft bench` has resident."""

    network: str
    engine: str
    threads: int
    load_ms: float = None
    first_ms: float = None
    run_ms: float = None
    added_mib: float = None
    idle_cpu_ms: float = None  # in a second
    planned_mib: float = None  # weights and arena, of a plan
    program_mib: float = None
    reason: str = ""
    samples: list = field(default_factory=list)

    def as_json(self):
        """All of it."""
        return asdict(self)


def one_process(name, prepared, settings):
    """Opens, runs, idles."""
    client, opened = open_engine(name, prepared, settings)
    with client:
        runs = client.ask("burst", seconds=0, least=RUNS, warmup=0,
                          clock=settings.clock)["ms"]
        added_kb = client.ask("memory")["peak_kb"] - opened["base_kb"]
        idle = client.ask("idle", seconds=IDLE_SECONDS)["cpu_ms"] / IDLE_SECONDS
    return {"load_ms": opened["load_ms"], "first_ms": opened["first_ms"],
            "run_ms": percentile(runs, 50), "added_mib": added_kb / 1024, "idle_cpu_ms": idle}


def plan_memory(prepared, row):
    """What the plan asks for, and what a program that runs it has."""
    report = subprocess.run([CAMSHAFT, "inspect", prepared.opened, "--json"],
                            capture_output=True, text=True, check=True)
    target = json.loads(report.stdout)["targets"][0]
    row.planned_mib = (target["weights_bytes"] + target["arena_bytes"]) / MIB
    command = [DEVICE_CAMSHAFT, "bench", prepared.opened, "--iterations", "5", "--warmup", "0"]
    peak = subprocess.run(["python3", "-S", "-c", PEAK_OF, *command], capture_output=True,
                          text=True, check=True)
    row.program_mib = int(peak.stdout) / 1024


def measure(names, prepared, settings, progress):
    """The engines on one network, process by process in turn; what fails is said in an engine's
    row."""
    rows = [Row(prepared.name, name, settings.threads) for name in names]
    files = {}
    for row in rows:
        attempt(row, lambda row: files.update({row.engine: convert(row.engine, prepared,
                                                                   settings)}))
    for number in range(PROCESSES + 1):
        for row in (r for r in rows if not r.reason):
            progress("%s: %s, process %d of %d" % (prepared.name, row.engine, number, PROCESSES))
            attempt(row, lambda row: row.samples.append(
                one_process(row.engine, files[row.engine], settings)))
    for row in (r for r in rows if not r.reason):
        del row.samples[0]
        for key in row.samples[0]:
            setattr(row, key, statistics.median(sample[key] for sample in row.samples))
        if row.engine.startswith("camshaft"):
            attempt(row, lambda row: plan_memory(files[row.engine], row))
    return rows


def attempt(row, step):
    """What goes wrong in a step is the row's reason."""
    try:
        step(row)
    except (Absent, EngineFailed) as failure:
        row.reason = str(failure)
    except (subprocess.CalledProcessError, OSError) as failure:
        row.reason = "its memory is not known: %s" % failure


HEAD = ("network", "engine", "threads", "load ms", "first ms", "load+first", "to " + YARDSTICK,
        "run ms", "first/run", "added MiB", "weights+arena", "program MiB", "idle ms/s")


def first_result_ms(row):
    """From the file to the first result, or None."""
    return None if row.load_ms is None or row.first_ms is None else row.load_ms + row.first_ms


def to_yardstick(row, rows):
    """The time to the first result divided by the yardstick's on the same network, or None."""
    for other in rows:
        if (other.network, other.engine, other.threads) == (row.network, YARDSTICK, row.threads):
            own, its = first_result_ms(row), first_result_ms(other)
            return own / its if own and its else None
    return None


def cells(row, rows):
    """A row of the table."""
    ratio = row.first_ms / row.run_ms if row.run_ms else None
    return (row.network, row.engine, str(row.threads), cell(row.load_ms), cell(row.first_ms),
            cell(first_result_ms(row)), cell(to_yardstick(row, rows)), cell(row.run_ms),
            cell(ratio), cell(row.added_mib, "%.1f"), cell(row.planned_mib, "%.1f"),
            cell(row.program_mib, "%.1f"), cell(row.idle_cpu_ms))


def network_text(rows):
    """What is printed of a network when it is known."""
    lines = ["%s, %s: opened in %s ms, first run %s ms, %s MiB" % (
        row.network, row.engine, cell(row.load_ms), cell(row.first_ms),
        cell(row.added_mib, "%.1f")) for row in rows if not row.reason]
    reasons = {row.engine: row.reason for row in rows if row.reason}
    return "\n".join(lines + ["%s, %s" % (rows[0].network, line) for line in reason_lines(reasons)])


def text(rows):
    """The table, and what went wrong."""
    lines = [columns([HEAD, *(cells(row, rows) for row in rows)], left=2)]
    for row in rows:
        if row.program_mib and row.program_mib > row.planned_mib + ALLOWED_MIB:
            lines.append("%s: %.1f MiB resident are more than weights, arena and %d MiB" % (
                row.network, row.program_mib, ALLOWED_MIB))
    return "\n".join(lines) + "\n"
