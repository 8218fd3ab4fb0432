# SPDX-License-Identifier: MIT
"""Messages from Python, between processes."""

import ctypes
import os
import signal
import subprocess
import sys
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[:0] = [os.path.join(ROOT, "tools/python"), os.path.join(ROOT, "tests/support")]

from queue_domain import QueueDomain  # noqa: E402

# A Python that was not built with a sanitizer can't load a library that was.
CHECKED = "sanitize-" in os.environ.get("CAMSHAFT_BUILD", "")

# Another process, that sends 20 messages a second until it is killed.
SENDER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from camshaft import messaging
pub = messaging.PubMaster(["modelOutput"], prefix=sys.argv[2])
for i in range(100000):
    message = messaging.new_message("modelOutput")
    message.modelOutput.frameId = i
    outputs = message.modelOutput.init("outputs", 1)
    outputs[0].name = "plan"
    outputs[0].values = [float(i)] * 3000
    pub.send("modelOutput", message)
    time.sleep(0.05)
"""


if not CHECKED:
    from camshaft import _library, messaging


@unittest.skipIf(CHECKED, "the library has a sanitizer")
class Messaging(unittest.TestCase):

    def setUp(self):
        self.domain = QueueDomain()
        self.addCleanup(self.domain.__exit__)

    def pub(self, *names):
        return messaging.PubMaster(list(names), prefix=self.domain.prefix)

    def sub(self, *names):
        return messaging.SubMaster(list(names), name="test", prefix=self.domain.prefix)

    def test_lists_and_options_are_checked(self):
        for wrong, what in (
                (lambda: messaging.PubMaster("controls"), "PubMaster(['controls'])"),
                (lambda: messaging.SubMaster("controls"), "SubMaster(['controls'])"),
                (lambda: self.sub(("controls", {"conflated": 0})), "no option 'conflated'")):
            with self.assertRaises(messaging.Error) as refused:
                wrong()
            self.assertIn(what, str(refused.exception))

    def test_what_can_not_be_meant_is_an_error_with_a_sentence(self):
        nan, controls = float("nan"), messaging.new_message("controls")
        pub, sub = self.pub("controls"), self.sub("controls")

        def named(name):
            return messaging.SubMaster(["controls"], name=name, prefix=self.domain.prefix)

        for wrong, what in (
                (lambda: pub.send("controls", None), "can't send None"),
                (lambda: pub.send("controls", "text"), "can't send 'text'"),
                (lambda: pub.send("controls", controls.controls), "takes a message"),
                (lambda: pub.send(None, controls), "a service must be a string, not None"),
                (lambda: sub["nope"], "does not receive 'nope'"),
                (lambda: sub.bytes("nope"), "it receives controls"),
                (lambda: sub.message("nope"), "it receives controls"),
                (lambda: sub.json(None), "does not receive None"),
                (lambda: sub.update(timeout_s=nan), "timeout_s must be a number"),
                (lambda: sub.update("1"), "not '1'"),
                (self.pub, 'PubMaster(["controls"])'),
                (self.sub, 'SubMaster(["controls"])'),
                (lambda: messaging.SubMaster(5), "wants a list of services"),
                (lambda: self.pub(None), "must be a string"),
                (lambda: self.sub(None), "None is no subscription"),
                (lambda: self.sub(("controls", 3)), "is no subscription"),
                (lambda: self.sub(("controls", {"rate_hz": "x"})), "every option is a number"),
                (lambda: named("../x"), "can't be a subscriber's name"),
                (lambda: named("a b"), "can't be a subscriber's name"),
                (lambda: named(None), "None can't be a subscriber's name")):
            with self.assertRaises(messaging.Error) as refused:
                wrong()
            self.assertIn(what, str(refused.exception))
        self.assertFalse(sub.update(-float("inf")))
        pub.send("controls", controls)
        self.assertTrue(sub.update(60))
        named("a_b-1.c").close()

    def test_the_table_is_the_library_s(self):
        rows = {}
        for i in range(_library.lib.camshaft_service_count()):
            row = _library.Service()
            _library.check(_library.lib.camshaft_service_get(i, ctypes.byref(row)))
            rows[row.name.decode()] = messaging.Service(
                row.name.decode(), row.schema.decode(), row.rate_hz, row.log_decimation,
                row.queue_bytes)
        self.assertEqual(rows, messaging.services())

    def test_messages_arrive_as_they_were_sent(self):
        with self.pub("controls") as pub, self.sub("controls", "health") as sub:
            self.assertFalse(sub.update())
            self.assertFalse(sub["controls"].seen)
            self.assertIsNone(sub.message("controls"))
            message = messaging.new_message("controls")
            message.controls.steeringAngleRad = 0.25
            message.controls.alert = "Achtung, \u00c4pfel"
            pub.send("controls", message)
            self.assertTrue(sub.update(60))
            self.assertTrue(sub["controls"].updated)
            self.assertTrue(sub["controls"].valid)
            self.assertEqual(sub["controls"].sequence, 1)
            self.assertFalse(sub["health"].updated)
            got = sub.message("controls")
            self.assertEqual(got.controls.steeringAngleRad, 0.25)
            self.assertEqual(got.controls.alert, "Achtung, \u00c4pfel")
            self.assertLessEqual(got.monoTimeNs, messaging.now_ns())
            self.assertEqual(sub.json("controls")["controls"]["alert"], "Achtung, \u00c4pfel")
            self.assertFalse(sub.update())
            self.assertFalse(sub["controls"].updated)

    def test_every_message_in_order_or_the_newest(self):
        with self.pub("controls") as pub, self.sub("controls") as newest, \
                self.sub(("controls", {"conflate": 0})) as each:
            for i in range(5):
                message = messaging.new_message("controls")
                message.controls.modelFrameId = i
                pub.send("controls", message)
            newest.update(60)
            self.assertEqual(newest.message("controls").controls.modelFrameId, 4)
            seen = []
            while each.update():
                seen.append(each.message("controls").controls.modelFrameId)
            self.assertEqual(seen, [0, 1, 2, 3, 4])

    def test_what_is_not_valid_says_why(self):
        # Expected so seldom that it is not late, however busy the machine is.
        seldom = ("controls", {"rate_hz": 0.01})
        with self.pub("controls") as pub, self.sub(seldom) as sub:
            message = messaging.new_message("controls", valid=False)
            message.reason = "no camera"
            pub.send("controls", message)
            sub.update(60)
            self.assertEqual(sub.complaint(), "controls is not valid: no camera")
            self.assertFalse(sub.all_ok())
            pub.send("controls", messaging.new_message("controls"))
            sub.update(60)
            self.assertTrue(sub.all_ok(), sub.complaint())  # control

    def test_a_killed_sender_is_late_by_how_much(self):
        sender = subprocess.Popen([sys.executable, "-c", SENDER, os.path.join(ROOT, "tools/python"),
                                   self.domain.prefix])
        self.addCleanup(sender.kill)
        with self.sub("modelOutput") as sub:
            for _ in range(5):
                self.assertTrue(sub.update(60))
            outputs = sub.message("modelOutput").modelOutput.outputs
            self.assertEqual(len(outputs[0].values), 3000)
            sender.send_signal(signal.SIGKILL)
            sender.wait()
            sub.update(0.2)
            last = sub["modelOutput"].sent_ns
            time.sleep(0.2)
            sub.update(0)
            state = sub["modelOutput"]
            self.assertEqual(state.late_since_ns, last + 50_000_000)
            self.assertGreaterEqual(state.late_by_ns, 150_000_000)
            self.assertRegex(sub.complaint(), r"^modelOutput is \d+ ms late: its message was due ")

    def test_mistakes_are_told(self):
        with self.assertRaisesRegex(messaging.Error, "there is no service 'carState'; there are "):
            self.pub("carState")
        with self.assertRaisesRegex(messaging.Error, "there is no service 'carState'"):
            self.sub("carState")
        with self.assertRaisesRegex(messaging.Error, "there is no service 'carState'; there are "):
            messaging.new_message("carState")
        for refused in (messaging.new_message, self.pub, self.sub):
            with self.assertRaisesRegex(messaging.Error, r"'contorls' \(did you mean 'controls'\?\)"):
                refused("contorls")
        with self.pub("controls") as pub:
            with self.assertRaisesRegex(messaging.Error, "has a publisher|taken|another"):
                self.pub("controls")
            with self.assertRaisesRegex(messaging.Error, "not a well-formed message"):
                pub.send("controls", b"rubbish!")
            with self.assertRaisesRegex(messaging.Error, "'controls' carries controls, not health"):
                pub.send("controls", messaging.new_message("health"))
            with self.assertRaisesRegex(messaging.Error, "does not send 'health'"):
                pub.send("health", messaging.new_message("health"))


if __name__ == "__main__":
    unittest.main()
