# SPDX-License-Identifier: MIT
"""The model of the thread pool's protocol: right as it is, and wrong with any part taken out."""

import os
import unittest

import model_checker

POOL = os.path.join(os.path.dirname(__file__), "../../../devices/cpu/model/pool.pml")


class ModelTest(model_checker.ModelTestCase):
    def test_threads_run_lists(self):
        faults = ["NO_ODD", "ODD_LATE", "NO_RUNNING_WAIT", "NO_CALLER_WAIT", "OWN_SHARE_ONLY",
                  "NO_STEP_IN_CLAIM", "CLAIM_BY_STORE", "NO_CALL_RECHECK", "PRESENT_LATE",
                  "NO_CLOSE", "CLOSE_LATE", "NO_PRESENCE_WAIT", "NO_COMPARE", "NOT_COUNTED",
                  "WAKE_FIRST"]
        self.check_model(POOL, [[], ["HELD"], ["THREADS=3", "JOBS=1"]],
                         [[f] for f in faults] +
                         [["HELD", "WAIT_FOR_ALL"], ["THREADS=3", "WAKE_ONE"]])


if __name__ == "__main__":
    unittest.main()
