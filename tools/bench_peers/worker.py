# SPDX-License-Identifier: MIT
"""One engine in a process of its own: `python -m bench_peers.worker MODULE CPU,CPU PRIORITY`.

Reads a line of JSON, does it, answers with a line of JSON; ends with its input. What engines print
goes to the standard error. Requests, by "do":

    convert  model, inputs, folder, threads  -> path
    open     path, inputs, outputs,
             threads, clock                  -> load_ms, first_ms, base_kb, peak_kb
    burst    seconds, least, warmup, clock   -> ms: of each run
    outputs  path                            -> writes the last run's outputs as .npz, by number
    idle     seconds                         -> cpu_ms that the process took while nobody asked
    memory                                   -> peak_kb

Clocks are "wall" and "cpu", which counts what all threads of the process do, and not what it waits
for. A request that fails is answered with "error", a sentence.
"""

import ctypes
import gc
import importlib
import json
import os
import resource
import signal
import sys
import time

import numpy as np


CLOCKS = {"wall": time.perf_counter_ns, "cpu": time.process_time_ns}


def memory_kb(field):
    """VmHWM, the most resident memory, or VmRSS, the present."""
    with open("/proc/self/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(field))


def forget_peak():
    """Lets the peak of resident memory begin again."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as f:
        f.write("5")


def cpu_ms():
    """Time that all threads of this process have taken."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return (usage.ru_utime + usage.ru_stime) * 1e3


class Worker:
    """What the requests do."""

    def __init__(self, module, cpus):
        self._cpus = cpus
        self._class = importlib.import_module(module).Engine
        self._engine = None

    def convert(self, model, inputs, folder, threads):
        """The file for open."""
        return {"path": self._class.convert(model, inputs, folder, threads)}

    def open(self, path, inputs, outputs, threads, clock="wall"):
        """From the file to a ready engine, and the first run."""
        with np.load(inputs) as arrays:
            values = {name: arrays[name] for name in arrays.files}
        forget_peak()
        base_kb, now_ns = memory_kb("VmRSS"), CLOCKS[clock]
        start_ns = now_ns()
        self._engine = self._class(path, values, outputs, threads, self._cpus)
        ready_ns = now_ns()
        self._engine.run()
        done_ns = now_ns()
        return {"load_ms": (ready_ns - start_ns) * 1e-6, "first_ms": (done_ns - ready_ns) * 1e-6,
                "base_kb": base_kb, "peak_kb": memory_kb("VmHWM")}

    def burst(self, seconds, least, warmup, clock="wall"):
        """Runs for some seconds, at least so many, after some that don't count."""
        now_ns = CLOCKS[clock]
        for _ in range(warmup):
            self._engine.run()
        samples, end_ns = [], time.perf_counter_ns() + int(seconds * 1e9)
        while len(samples) < least or time.perf_counter_ns() < end_ns:
            start_ns = now_ns()
            self._engine.run()
            samples.append((now_ns() - start_ns) * 1e-6)
        return {"ms": samples}

    def outputs(self, path):
        """Of the last run."""
        np.savez(path, *self._engine.outputs())
        return {}

    def idle(self, seconds):
        """After a moment in which threads may still wait for work."""
        time.sleep(0.2)
        before = cpu_ms()
        time.sleep(seconds)
        return {"cpu_ms": cpu_ms() - before}

    def memory(self):
        """Until now."""
        return {"peak_kb": memory_kb("VmHWM")}


def end_with_parent():
    """Has this process killed when the one that started it ends, since a stopped process would not
    notice that its input ended."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def answer(worker, line):
    """The answer to a request."""
    request = json.loads(line)
    try:
        return getattr(worker, request.pop("do"))(**request)
    except Exception as error:  # whatever an engine raises becomes a sentence
        return {"error": "%s: %s" % (type(error).__name__, str(error).strip() or "without a word")}


def main(module, cpus, priority):
    """Pins the process, imports the engine, answers until the input ends."""
    end_with_parent()
    cpus = [int(cpu) for cpu in cpus.split(",")]
    os.sched_setaffinity(0, cpus)
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # engines print what they like
    try:
        if int(priority) > 0:  # threads inherit it; those that share a CPU take turns
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(int(priority)))
        worker, ready = Worker(module, cpus), {"ready": True}
    except Exception as error:
        worker, ready = None, {"error": "%s: %s" % (type(error).__name__, error)}
    print(json.dumps(ready), file=channel, flush=True)
    gc.disable()
    for line in sys.stdin if worker else ():
        print(json.dumps(answer(worker, line)), file=channel, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
