# SPDX-License-Identifier: MIT
"""Outcomes as text, as Markdown and as JSON."""

from bench_peers import figures
from bench_peers.roster import OWN


def cell(value, pattern="%.2f"):
    """A number, or a dash for none."""
    return "-" if value is None else pattern % value


def columns(rows, left=1):
    """Rows of cells under one another; the first `left` columns aligned to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(text.ljust(width) if i < left else text.rjust(width)
                               for i, (text, width) in enumerate(zip(row, widths))).rstrip()
                     for row in rows)


def engine_row(outcome, name):
    """The numbers of an engine on a network."""
    timing, error = outcome.timings[name], outcome.errors.get(name)
    best = figures.best_peer(outcome.timings, OWN)
    share = None
    if outcome.flops and outcome.peak_gflops:
        share = figures.share_of_peak(outcome.flops, timing.p50(), outcome.peak_gflops)
    ratio = figures.paired_ratio(timing, outcome.timings[best]) if best else None
    return {"min_ms": min(timing.samples()), "p50_ms": timing.p50(), "p99_ms": timing.p99(),
            "p99_over_p50": timing.jitter(), "ratio_to_best_peer": ratio,
            "share_of_peak": share, "error_in_tolerances": error, "runs": len(timing.samples())}


def reason_lines(reasons):
    """A line for each sentence, after the names of all it is said of."""
    said = {}
    for name, reason in sorted(reasons.items()):
        said.setdefault(reason, []).append(name)
    return ["%s: %s" % (", ".join(names), reason) for reason, names in said.items()]


def outcome_text(outcome):
    """The table of one network, and the reasons of what is missing. An error above the tolerance is
    marked."""
    best = figures.best_peer(outcome.timings, OWN)
    rows = [("engine", "min ms", "p50 ms", "p99 ms", "p99/p50", "to best", "of peak", "error",
             "runs")]
    for name in sorted(outcome.timings, key=lambda name: outcome.timings[name].p50()):
        row = engine_row(outcome, name)
        share = row["share_of_peak"]
        error = cell(row["error_in_tolerances"], "%.3g")
        rows.append((name + (" *" if name == best else ""), cell(row["min_ms"], "%.3f"),
                     cell(row["p50_ms"], "%.3f"), cell(row["p99_ms"], "%.3f"),
                     cell(row["p99_over_p50"]), cell(row["ratio_to_best_peer"]),
                     cell(share and 100 * share, "%.0f %%"),
                     error + (" !" if outcome.errors.get(name, 0) > 1 else ""), str(row["runs"])))
    lines = [title(outcome), columns(rows)]
    lines += reason_lines(outcome.reasons)
    if outcome.error_reason:
        lines.append("no errors: " + outcome.error_reason)
    return "\n".join(lines) + "\n"


def beside_best(outcomes, name="camshaft"):
    """(outcome, our timing, the best peer's) where both are known."""
    for outcome in outcomes:
        best = figures.best_peer(outcome.timings, OWN)
        if best and name in outcome.timings:
            yield outcome, outcome.timings[name], outcome.timings[best]


def ratios(outcomes, name="camshaft"):
    """(outcome, ratio to the best peer) where both are known."""
    for outcome, ours, theirs in beside_best(outcomes, name):
        yield outcome, figures.paired_ratio(ours, theirs)


def title(outcome):
    """Of what was measured."""
    return "%s, %d thread%s" % (outcome.network, outcome.threads,
                                "" if outcome.threads == 1 else "s")


def tails_text(outcomes):
    """How p99 / p50 compares with the best peer's, and where it is worse."""
    found = list(beside_best(outcomes))
    judged = [item for item in found if figures.has_enough_rounds(*item[1:])]
    worse = [item for item in judged if figures.is_less_steady(*item[1:])]
    text = "p99/p50 divided by the best peer's: %.2f in geometric mean" % figures.geometric_mean(
        ours.jitter() / theirs.jitter() for _, ours, theirs in found)
    if judged:
        text += "; worse by more than chance on %d of %d" % (len(worse), len(judged))
    if len(judged) < len(found):
        text += "; fewer than %d rounds on %d, too few to tell worse from chance" % (
            figures.LEAST_ROUNDS, len(found) - len(judged))
    lines = [text]
    lines += ["less steady: %s, %.2f against %.2f" % (title(outcome), ours.jitter(),
                                                      theirs.jitter())
              for outcome, ours, theirs in worse]
    return "\n".join(lines) + "\n"


def summary_text(outcomes):
    """The geometric mean of the ratios, and where we lose, the worst first."""
    found = sorted(ratios(outcomes), key=lambda item: -item[1])
    if not found:
        return ""
    lines = ["geometric mean of Camshaft / best peer over %d: %.2f" % (
        len(found), figures.geometric_mean(ratio for _, ratio in found))]
    for outcome, ratio in found:
        if ratio > 1:
            lines.append("slower: %s, %.2f of %s" % (
                title(outcome), ratio, figures.best_peer(outcome.timings, OWN)))
    return "\n".join(lines) + "\n" + tails_text(outcomes)


def markdown(outcomes, names):
    """A row for each network, as the README has them."""
    head = ["network", "threads", *names, "Camshaft / best", "p99/p50", "best's", "of peak",
            "error"]
    lines = ["| %s |" % " | ".join(head), "|" + "---|" * len(head)]
    for outcome in outcomes:
        best = figures.best_peer(outcome.timings, OWN)
        times = ["%.2f" % outcome.timings[name].p50() if name in outcome.timings else "-"
                 for name in names]
        own = engine_row(outcome, "camshaft") if "camshaft" in outcome.timings else {}
        ratio, share = own.get("ratio_to_best_peer"), own.get("share_of_peak")
        lines.append("| %s |" % " | ".join([
            outcome.network, str(outcome.threads), *times, cell(ratio, "**%.2f**"),
            cell(own.get("p99_over_p50")), cell(outcome.timings[best].jitter() if best else None),
            cell(share and 100 * share, "%.0f %%"), cell(own.get("error_in_tolerances"), "%.2g")]))
    return "\n".join(lines) + "\n"


def as_json(outcomes):
    """Everything, with the samples."""
    def one(outcome):
        engines = {name: dict(engine_row(outcome, name), rounds_ms=timing.rounds,
                              opened=outcome.opened.get(name))
                   for name, timing in outcome.timings.items()}
        return {"network": outcome.network, "threads": outcome.threads, "engines": engines,
                "best_peer": figures.best_peer(outcome.timings, OWN), "reasons": outcome.reasons,
                "flops": outcome.flops, "peak_gflops": outcome.peak_gflops,
                "error_reason": outcome.error_reason}

    means = {str(threads): figures.geometric_mean(
        ratio for outcome, ratio in ratios(outcomes) if outcome.threads == threads)
             for threads in sorted({outcome.threads for outcome in outcomes})}
    return {"outcomes": [one(outcome) for outcome in outcomes], "geometric_mean": means}
