# SPDX-License-Identifier: MIT
"""Errors of estimates against truth, and the limits that roadnet must keep on held-out seeds."""

import numpy as np

NEAR_M = 30.0               # lines are judged up to here
LEAD_RANGE_M = (5.0, 80.0)  # leads are judged between these distances

LIMITS = {"line_error_m": 0.10, "lead_relative_error": 0.10}


def measure(estimate, truth, layout):
    """Mean errors over views: arrays are [views, layout.size]. Returns {name: float}."""
    near = layout.distances_m <= NEAR_M
    result, line_errors = {"views": len(truth)}, []
    for side in ("left", "right"):
        painted = layout.get(truth, side + "_line_probability") > 0.5
        error = np.abs(layout.get(estimate, side + "_line") - layout.get(truth, side + "_line"))
        line_errors.append(error[painted])
        result[side + "_line_error_m"] = float(error[painted][:, near].mean())
        said = layout.get(estimate, side + "_line_probability") > 0.5
        result[side + "_line_accuracy"] = float((said == painted).mean())
    lines = np.concatenate(line_errors)
    result["line_error_m"] = float(lines[:, near].mean())
    result["line_error_60m_m"] = float(lines.mean())
    path = np.abs(layout.get(estimate, "path") - layout.get(truth, "path"))
    result["path_error_m"] = float(path[:, near].mean())
    present = layout.get(truth, "lead_probability") > 0.5
    distance = layout.get(truth, "lead_distance")
    judged = present & (distance >= LEAD_RANGE_M[0]) & (distance <= LEAD_RANGE_M[1])
    relative = np.abs(layout.get(estimate, "lead_distance") - distance)[judged] / distance[judged]
    result["lead_relative_error"] = float(relative.mean())
    said = layout.get(estimate, "lead_probability") > 0.5
    result["lead_accuracy"] = float((said == present).mean())
    return result


def errors_by_distance(estimate, truth, layout):
    """Mean lateral error of painted lines at each distance, metres."""
    errors = []
    for side in ("left", "right"):
        painted = layout.get(truth, side + "_line_probability") > 0.5
        errors.append(np.abs(layout.get(estimate, side + "_line") -
                             layout.get(truth, side + "_line"))[painted])
    return np.concatenate(errors).mean(axis=0)


def above_limits(result):
    """Sentences about the figures that exceed their limit."""
    return ["%s is %.4f, above %.2f" % (name, result[name], limit)
            for name, limit in LIMITS.items() if not result[name] <= limit]
