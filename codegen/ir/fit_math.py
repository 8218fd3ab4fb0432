# SPDX-License-Identifier: MIT
"""Derives the polynomials of math_*.cc and prints them as C++ tables with their errors.

Each is a minimax fit by the Remez exchange algorithm in 60 digits (needs the package mpmath). The
coefficients are rounded to the format in which they are used, the lowest first: after each rounding
the higher ones are fitted again, so that the rounding errors compensate one another.

    python3 codegen/ir/fit_math.py [NAME...]
"""

import functools
import struct
import sys

from mpmath import mp, mpf

mp.dps = 60


def to_f32(value):
    """The nearest f32, as mpf."""
    return mpf(struct.unpack("<f", struct.pack("<f", float(value)))[0])


def to_f64(value):
    """The nearest f64, as mpf."""
    return mpf(float(value))


def chebyshev_points(lo, hi, count):
    """Points from lo to hi, none of them 0, where weights may vanish."""
    middle, half = (lo + hi) / 2, (hi - lo) / 2
    points = [middle - half * mp.cos(mp.pi * i / (count - 1)) for i in range(count)]
    return [x if abs(x) > half / (100 * count) else half / (50 * count) for x in points]


def solve_alternant(target, weight, powers, points):
    """The fit whose weighted error has equal size and alternating sign at `points`."""
    rows = mp.matrix(len(points), len(powers) + 1)
    right = mp.matrix(len(points), 1)
    for i, x in enumerate(points):
        for j, power in enumerate(powers):
            rows[i, j] = x ** power
        rows[i, len(powers)] = (-1) ** i / weight(x)
        right[i] = target(x)
    solution = mp.lu_solve(rows, right)
    return [solution[j] for j in range(len(powers))]


def extremes(error, lo, hi, count):
    """The largest error of each sign run, `count` of them or fewer, over a fine grid."""
    grid = chebyshev_points(lo, hi, 40 * count + 1)
    runs = []
    for x in grid:
        e = error(x)
        if runs and (e > 0) == (runs[-1][1] > 0):
            if abs(e) > abs(runs[-1][1]):
                runs[-1] = (x, e)
        else:
            runs.append((x, e))
    while len(runs) > count:
        runs.pop(0 if abs(runs[0][1]) < abs(runs[-1][1]) else -1)
    return runs


def remez(target, weight, powers, lo, hi):
    """Minimax coefficients of sum c_j x^powers[j], and the largest weighted error."""
    count = len(powers) + 1
    points = chebyshev_points(lo, hi, count)
    for _ in range(30):
        coefficients = solve_alternant(target, weight, powers, points)

        def error(x):
            value = sum(c * x ** p for c, p in zip(coefficients, powers))
            return (value - target(x)) * weight(x)

        runs = extremes(error, lo, hi, count)
        sizes = [abs(e) for _, e in runs]
        if len(runs) < count or max(sizes) - min(sizes) < mpf("1e-3") * max(sizes):
            return coefficients, max(sizes)
        points = [x for x, _ in runs]
    return coefficients, max(sizes)


def fit(target, weight, powers, lo, hi, rounding):
    """Rounded coefficients: the lowest is rounded first and the others are fitted again, where that
    helps (near 0 a fit of high powers alone is ill-conditioned)."""
    lo, hi = mpf(lo), mpf(hi)
    target, weight = functools.cache(target), functools.cache(weight)  # the grids recur
    grid = chebyshev_points(lo, hi, 1001)
    targets = [(x, target(x), weight(x)) for x in grid]

    def worst(coefficients):
        return max(abs((mp.polyval(coefficients[::-1], x) - t) * w) for x, t, w in targets)

    best, _ = remez(target, weight, powers, lo, hi)
    for done in range(1, len(powers)):
        best[done - 1] = rounding(best[done - 1])
        fixed = best[:done]

        def rest(x):
            return target(x) - mp.polyval(fixed[::-1], x)

        rest = functools.cache(rest)
        again = fixed + remez(rest, weight, powers[done:], lo, hi)[0]
        if worst(again) < worst(best):
            best = again
    best = [rounding(c) for c in best]
    return best, worst(best)


def fit_ratio(target, weight, degree, lo, hi, rounding):
    """Rounded coefficients of p(x) / q(x), both of that degree, and q(0) = 1: least squares whose
    weights grow where the error is large (Lawson's), which comes near to the minimax fit."""
    grid = [(x, target(x), weight(x)) for x in chebyshev_points(mpf(lo), mpf(hi), 16 * degree)]
    trust, divisors = [mpf(1)] * len(grid), [mpf(1)] * len(grid)
    best, least = None, mp.inf
    for _ in range(150):
        rows = mp.matrix(len(grid), 2 * degree + 1)
        right = mp.matrix(len(grid), 1)
        for i, (x, t, w) in enumerate(grid):
            factor = mp.sqrt(trust[i]) * w / divisors[i]
            for j in range(degree + 1):
                rows[i, j] = factor * x ** j
            for j in range(1, degree + 1):
                rows[i, degree + j] = -factor * t * x ** j
            right[i] = factor * t
        solution = mp.lu_solve(rows, right)
        p, q = list(solution[:degree + 1]), [mpf(1)] + list(solution[degree + 1:])
        divisors = [mp.polyval(q[::-1], x) for x, _, _ in grid]
        errors = [abs(mp.polyval(p[::-1], x) / d - t) * w for (x, t, w), d in zip(grid, divisors)]
        if max(errors) < least:
            best, least = (p, q), max(errors)
        trust = [old * (e / max(errors) + mpf("1e-3")) for old, e in zip(trust, errors)]
        trust = [t / sum(trust) for t in trust]
    return [[rounding(c) for c in part] for part in best], least


def series(value, threshold, limit):
    """`value` of x, but `limit` of x near 0, where `value` is 0 / 0."""
    return lambda x: limit(x) if abs(x) < threshold else value(x)


def odd_tail(function, first, second):
    """In z = x^2: (function(x) - first * x) / x^3, whose limit is `second`."""
    return series(lambda z: (function(mp.sqrt(z)) - first * mp.sqrt(z)) / mp.sqrt(z) ** 3,
                  mpf("1e-16"), lambda z: mpf(second))


LN2 = mp.log(2)
SQRT2 = mp.sqrt(2)
EXP_TAIL = series(lambda x: (mp.expm1(x) - x) / x ** 2, mpf("1e-16"), lambda x: mpf(1) / 2 + x / 6)
LOG_TAIL = series(lambda f: (mp.log1p(f) - f + f ** 2 / 2) / f ** 3, mpf("1e-16"),
                  lambda f: mpf(1) / 3 - f / 4)
COS_TAIL = series(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z ** 2, mpf("1e-16"),
                  lambda z: mpf(1) / 24 - z / 720)
SIN_TAIL = odd_tail(mp.sin, 1, mpf(-1) / 6)
TANH_TAIL = odd_tail(mp.tanh, 1, mpf(-1) / 3)
ATAN_TAIL = odd_tail(mp.atan, 1, mpf(-1) / 3)
ATANH_TAIL = odd_tail(lambda s: 2 * mp.atanh(s), 2, mpf(2) / 3)
EXP2_RATIO = series(lambda r: (mpf(2) ** r - 1) / r, mpf("1e-16"), lambda r: LN2)
ERF_RATIO = series(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, mpf("1e-16"),
                   lambda z: 2 / mp.sqrt(mp.pi) - 1 - z * 2 / mp.sqrt(mp.pi) / 3)


def log_erfc(x):
    return mp.log(mp.erfc(x))


def table(name, spec):
    """Prints one fit: spec is (target, weight, powers, lo, hi, rounding, what the error is of)."""
    target, weight, powers, lo, hi, rounding, what = spec
    coefficients, worst = fit(target, weight, powers, lo, hi, rounding)
    print("// %s: degree %d on [%s, %s], error 2^%.1f of %s" % (
        name, powers[-1], mp.nstr(mpf(lo), 6), mp.nstr(mpf(hi), 6), float(mp.log(worst, 2)), what))
    print("constexpr double k%s[] = {%s};" % (name, ", ".join(
        "%.9g" % float(c) if rounding is to_f32 else float(c).hex() for c in coefficients)))


HALF_LN2 = LN2 / 2 * mpf("1.01")
QUARTER_PI = mp.pi / 4 * mpf("1.001")
S_MAX = (SQRT2 - 1) / (SQRT2 + 1)


def exp_weight(x):
    return x ** 2 / mp.exp(x)


def root_weight(power, function):
    """The error of a tail in z = x^2, times x^power, relative to function(x)."""
    return lambda z: mp.sqrt(z) ** power / function(mp.sqrt(z))


FITS = {
    "ExpF32": (EXP_TAIL, exp_weight, range(5), -HALF_LN2, HALF_LN2, to_f32, "exp"),
    "ExpF64": (EXP_TAIL, exp_weight, range(10), -HALF_LN2, HALF_LN2, to_f64, "exp"),
    "ExpOfPow": (EXP_TAIL, exp_weight, range(7), -HALF_LN2, HALF_LN2, to_f64, "exp"),
    "LogF32": (LOG_TAIL, lambda f: f ** 3 / mp.log1p(f), range(9), 1 / SQRT2 - 1, SQRT2 - 1,
               to_f32, "log(1 + f)"),
    "LogF64": (ATANH_TAIL, root_weight(3, lambda s: 2 * mp.atanh(s)), range(8), 0, S_MAX ** 2,
               to_f64, "2 atanh(s), in s^2"),
    "LogOfPow": (ATANH_TAIL, root_weight(3, lambda s: 2 * mp.atanh(s)), range(5), 0, S_MAX ** 2,
                 to_f64, "2 atanh(s), in s^2"),
    "SinF32": (SIN_TAIL, root_weight(3, mp.sin), range(3), 0, QUARTER_PI ** 2, to_f32,
               "sin(r), in r^2"),
    "SinF64": (SIN_TAIL, root_weight(3, mp.sin), range(6), 0, QUARTER_PI ** 2, to_f64,
               "sin(r), in r^2"),
    "CosF32": (COS_TAIL, root_weight(4, mp.cos), range(3), 0, QUARTER_PI ** 2, to_f32,
               "cos(r), in r^2"),
    "CosF64": (COS_TAIL, root_weight(4, mp.cos), range(6), 0, QUARTER_PI ** 2, to_f64,
               "cos(r), in r^2"),
    "AtanF32": (ATAN_TAIL, root_weight(3, mp.atan), range(9), 0, 1, to_f32, "atan(t), in t^2"),
    "AtanF64": (ATAN_TAIL, root_weight(3, mp.atan), range(20), 0, 1, to_f64, "atan(t), in t^2"),
    "TanhF32": (TANH_TAIL, root_weight(3, mp.tanh), range(5), 0, mpf("0.625") ** 2, to_f32,
                "tanh(x), in x^2"),
    "ErfF32": (ERF_RATIO, root_weight(1, mp.erf), range(7), 0, mpf("0.875") ** 2, to_f32,
               "erf(x), in x^2"),
    "ErfF64": (ERF_RATIO, root_weight(1, mp.erf), range(12), 0, mpf("0.875") ** 2, to_f64,
               "erf(x), in x^2"),
    "LogErfcF32": (log_erfc, mp.erfc, range(8), mpf("0.875"), 4, to_f32, "erf(x)"),
    "Exp2F32": (EXP2_RATIO, lambda r: r / mpf(2) ** r, range(6), mpf("-0.5005"), mpf("0.5005"),
                to_f32, "2^r"),
    "PowerRatio": (lambda m: mp.mpf(2) ** (m - 1) / m, lambda m: m / mp.mpf(2) ** (m - 1), range(4),
                   1, 2, to_f32, "2^f, in 1 + f"),
    "LogErfcF64": (log_erfc, mp.erfc, range(20), mpf("0.875"), 6, to_f64, "erf(x)"),
}


# Of two polynomials, p(x) / q(x): (target, weight, degree, lo, hi, rounding, what the error is of).
RATIOS = {
    "ErfRatioF32": (lambda z: ERF_RATIO(z) + 1, mp.sqrt, 5, 0, mpf("3.9") ** 2, to_f32,
                    "erf(x), in x^2"),
}


def ratio_table(name, spec):
    """Prints one fit of a ratio."""
    (p, q), worst = fit_ratio(*spec[:6])
    print("// %s: degree %d on [%s, %s], error 2^%.1f of %s" % (
        name, spec[2], mp.nstr(mpf(spec[3]), 6), mp.nstr(spec[4], 6), float(mp.log(worst, 2)),
        spec[6]))
    for suffix, part in (("Above", p), ("Below", q)):
        print("constexpr double k%s%s[] = {%s};" % (
            name, suffix, ", ".join("%.9g" % float(c) for c in part)))


def main(names):
    for name in names or [*FITS, *RATIOS]:
        if name in RATIOS:
            ratio_table(name, RATIOS[name])
        else:
            table(name, FITS[name])


if __name__ == "__main__":
    main(sys.argv[1:])
