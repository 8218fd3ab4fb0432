# SPDX-License-Identifier: MIT
"""Numbers out of samples: percentiles, ratios, shares, errors."""

import math
import statistics
from dataclasses import dataclass, field

import numpy as np

LEAST_ROUNDS = 5  # from which is_less_steady() says something


def percentile(samples, percent):
    """The smallest sample that at least `percent` % of the samples don't exceed."""
    ordered = sorted(samples)
    rank = math.ceil(percent / 100 * len(ordered))
    return ordered[max(rank, 1) - 1]


@dataclass
class Timing:
    """The runs of one engine on one network, in ms, by rounds."""

    rounds: list = field(default_factory=list)

    def samples(self):
        """All runs."""
        return [ms for burst in self.rounds for ms in burst]

    def p50(self):
        """Median of all runs."""
        return percentile(self.samples(), 50)

    def p99(self):
        """99th percentile of all runs."""
        return percentile(self.samples(), 99)

    def tails(self):
        """p99 / p50 of each round: the slowest run's of one with fewer than 100 runs."""
        return [percentile(burst, 99) / percentile(burst, 50) for burst in self.rounds]

    def jitter(self):
        """The median of tails(): a machine that is faster in one round than in another, which it is
        for all engines, isn't an engine's jitter."""
        return statistics.median(self.tails())


def paired_ratio(ours, theirs):
    """How long ours takes for what takes theirs 1: the median over rounds of the ratio of medians.
    Both were measured moments apart in each round, so that what the machine did beside matters
    little."""
    return statistics.median(percentile(a, 50) / percentile(b, 50)
                             for a, b in zip(ours.rounds, theirs.rounds))


def has_enough_rounds(ours, theirs):
    """Whether is_less_steady() can say something of them."""
    return min(len(ours.rounds), len(theirs.rounds)) >= LEAST_ROUNDS


def is_less_steady(ours, theirs):
    """Whether p99 / p50 is worse than theirs in the median and in all rounds, or all but one of
    each seven. A coin would say so once in 32 of five rounds and once in 16 of seven. Never of
    fewer."""
    if not has_enough_rounds(ours, theirs):
        return False
    pairs = list(zip(ours.tails(), theirs.tails()))
    worse = sum(a > b for a, b in pairs)
    return ours.jitter() > theirs.jitter() and worse >= len(pairs) - len(pairs) // 7


def best_peer(timings, own):
    """The name of the fastest engine that is not ours, by median; None where there is none."""
    peers = [name for name in timings if name not in own]
    return min(peers, key=lambda name: timings[name].p50(), default=None)


def geometric_mean(values):
    """Of positive numbers; None of none."""
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def share_of_peak(flops, ms, peak_gflops):
    """What a run of direct arithmetic reaches of the most that the threads can do. Above 1 where an
    engine does less arithmetic, as with Winograd convolutions."""
    return flops / (ms * 1e-3) / (peak_gflops * 1e9)


def error_in_tolerances(actual, expected, rtol, atol):
    """The largest |actual - expected| / (atol + rtol |expected|) over all outputs: outside where
    above 1. Infinite where shapes or non-finite values differ."""
    worst = 0.0
    if len(actual) != len(expected):
        return math.inf
    for got, wanted in zip(actual, expected):
        got, wanted = np.asarray(got, np.float64), np.asarray(wanted, np.float64)
        if got.size != wanted.size:
            return math.inf
        got = got.reshape(wanted.shape)  # some engines have no batch axis
        if not np.array_equal(np.isfinite(got), np.isfinite(wanted)):
            return math.inf
        finite = np.isfinite(wanted)
        if finite.any():
            gap = np.abs(got - wanted)[finite] / (atol + rtol * np.abs(wanted[finite]))
            worst = max(worst, float(gap.max()))
    return worst
