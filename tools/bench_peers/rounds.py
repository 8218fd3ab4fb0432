# SPDX-License-Identifier: MIT
"""Times engines on one network in turn: in each round every engine gets a short burst of runs."""

import json
import os
import subprocess
from dataclasses import dataclass, field, replace

import onnx

from bench_peers import figures, reference, subjects
from bench_peers.client import Client, EngineFailed
from bench_peers.places import CAMSHAFT, Absent
from bench_peers.roster import ROSTER

RTOL, ATOL = 1e-3, 1e-4  # what errors are shares of


@dataclass(frozen=True)
class Settings:
    """Of a measurement. `cpus`: one for each thread."""

    threads: int
    cpus: tuple
    rounds: int = 7
    seconds: float = 0.25  # of a burst
    least: int = 3  # runs of a burst, at least
    warmup: int = 1  # runs before a burst, which bring its data back into the caches
    beam: int = 0  # of tinygrad
    clock: str = "wall"  # or "cpu"
    priority: int = 0  # of SCHED_RR, for all engines


@dataclass
class Outcome:
    """What was measured on one network. `reasons`: a sentence for each engine without timing."""

    network: str
    threads: int
    timings: dict = field(default_factory=dict)  # engine -> figures.Timing
    errors: dict = field(default_factory=dict)  # engine -> largest error in tolerances
    opened: dict = field(default_factory=dict)  # engine -> load_ms and first_ms
    reasons: dict = field(default_factory=dict)
    flops: float = 0.0  # of a run, by direct arithmetic
    peak_gflops: float = 0.0  # of all threads
    error_reason: str = ""  # why there are no errors


def output_names(prepared):
    """Of the model, in order."""
    return [o.name for o in onnx.load(prepared.model, load_external_data=False).graph.output]


def start_client(name, prepared, settings):
    """A process for an engine. Raises Absent or EngineFailed."""
    ROSTER[name].check()
    log = os.path.join(prepared.folder, name + ".log")
    return Client(ROSTER[name], settings.threads, settings.cpus, log, settings.beam,
                  priority=settings.priority)


def convert(name, prepared, settings):
    """The files that an engine opens: its model in its own format, its inputs. Raises Absent or
    EngineFailed."""
    peer = ROSTER[name]
    if peer.needs_floats:
        prepared = subjects.with_floats(prepared)
    if not peer.converts:
        return prepared
    with start_client(name, prepared, settings) as client:  # whose memory doesn't count
        path = client.ask("convert", model=prepared.model, inputs=prepared.inputs,
                          folder=prepared.folder, threads=settings.threads)["path"]
    return replace(prepared, opened=path)


def open_engine(name, prepared, settings):
    """A client whose engine is ready, and the answer to `open`; takes what convert() returned.
    Raises Absent or EngineFailed."""
    client = start_client(name, prepared, settings)
    try:
        path = prepared.opened or prepared.model
        return client, client.ask("open", path=path, inputs=prepared.inputs,
                                  outputs=output_names(prepared), threads=settings.threads,
                                  clock=settings.clock)
    except EngineFailed:
        client.close()
        raise


def measure_peak(prepared, settings, outcome):
    """The multiply-adds of the plan, and the most that the CPUs do of them now."""
    plan = os.path.join(prepared.folder, "llvm_%d.plan" % settings.threads)
    if not os.path.exists(plan):
        return
    done = subprocess.run([CAMSHAFT, "bench", plan, "--peak", "--iterations", "1", "--warmup", "0",
                           "--json"], capture_output=True, text=True, check=False,
                          preexec_fn=lambda: os.sched_setaffinity(0, settings.cpus))
    if done.returncode == 0:
        report = json.loads(done.stdout)
        outcome.flops = report["flops"]
        outcome.peak_gflops = report["peak"]["gflops"] * settings.threads


def order_of_round(names, number):
    """Another engine begins each round, so that none always follows the same one."""
    start = number % len(names) if names else 0
    return names[start:] + names[:start]


def run_rounds(clients, settings, outcome, progress):
    """Bursts in turn. An engine that fails leaves the rounds."""
    for number in range(settings.rounds):
        for name in order_of_round(list(clients), number):
            progress("%s, round %d of %d: %s" % (outcome.network, number + 1, settings.rounds,
                                                 name))
            try:
                burst = clients[name].ask("burst", seconds=settings.seconds, least=settings.least,
                                          warmup=settings.warmup, clock=settings.clock)
            except EngineFailed as failure:
                outcome.reasons[name] = str(failure)
                outcome.timings.pop(name, None)
                clients.pop(name).close()
                continue
            outcome.timings.setdefault(name, figures.Timing()).rounds.append(burst["ms"])


def check_outputs(clients, prepared, outcome):
    """Errors of the last runs, against the oracle."""
    try:
        expected = reference.expected_outputs(prepared)
    except Absent as absent:
        outcome.error_reason = str(absent)
        return
    for name, client in clients.items():
        path = os.path.join(prepared.folder, name + ".out.npz")
        try:
            client.ask("outputs", path=path)
            actual = reference.read_arrays(path)
            outcome.errors[name] = figures.error_in_tolerances(actual, expected, RTOL, ATOL)
        except EngineFailed as failure:
            outcome.reasons[name] = str(failure)


def measure(prepared, names, settings, progress):
    """One network with some engines. Whatever fails is said in the outcome."""
    outcome, clients = Outcome(prepared.name, settings.threads), {}
    try:
        for name in names:
            progress("%s: %s gets ready" % (prepared.name, name))
            try:
                clients[name], outcome.opened[name] = open_engine(
                    name, convert(name, prepared, settings), settings)
            except (Absent, EngineFailed) as failure:
                outcome.reasons[name] = str(failure)
        measure_peak(prepared, settings, outcome)
        run_rounds(clients, settings, outcome, progress)
        progress("%s: the oracle" % prepared.name)
        check_outputs(clients, prepared, outcome)
    finally:
        for client in clients.values():
            client.close()
    return outcome
