# SPDX-License-Identifier: MIT
"""The models of the queue's protocol: right as they are, and wrong with any part taken out."""

import os
import unittest

import model_checker

FOLDER = os.path.join(os.path.dirname(__file__), "../../../msgq/queue/model")


class ModelTest(model_checker.ModelTestCase):
    def test_no_wake_up_is_lost(self):
        faults = ["NO_RECHECK", "NO_COMPARE", "WAKE_FIRST", "BELL_LATE", "NO_HANDOVER",
                  "HANDOVER_BY_FLAGS"]
        self.check_model(os.path.join(FOLDER, "wake.pml"), [[]], [[f] for f in faults])

    def test_no_read_is_torn(self):
        faults = ["NO_SECOND_LOOK", "NO_CHECK", "NO_BUSY_STAMP", "NO_SECOND_STAMP", "NO_LIVENESS",
                  "CLEAR_DEAD"]
        self.check_model(os.path.join(FOLDER, "ring.pml"), [[], ["REVOKE"]],
                         [[f] for f in faults] + [["REVOKE", "NO_REVOKED_CHECK"]])


if __name__ == "__main__":
    unittest.main()
