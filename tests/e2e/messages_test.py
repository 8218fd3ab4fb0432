# SPDX-License-Identifier: MIT
"""`camshaft top` and `camshaft echo`, beside processes that publish and read."""

import json
import os
import signal
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tools/python"), os.path.join(ROOT, "tests/support")]

from e2e import BUILD, CAMSHAFT, DEVICE_CAMSHAFT, camshaft  # noqa: E402
from queue_domain import QueueDomain  # noqa: E402

# A Python that was not built with a sanitizer can't load a library that was.
CHECKED = "sanitize-" in BUILD
if not CHECKED:
    from camshaft import messaging

# Sends controls, numbered, as often as it is told to.
SENDER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from camshaft import messaging
pub = messaging.PubMaster(["controls"], prefix=sys.argv[2])
print("ready", flush=True)
for i in range(1000000):
    message = messaging.new_message("controls")
    message.controls.modelFrameId = i
    message.controls.alert = "number %d" % i
    pub.send("controls", message)
    time.sleep(float(sys.argv[3]))
"""


# Waits for controls for ten minutes. What a shell runs in the background is started with interrupts
# ignored, and so are the tests then.
WAITER = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, sys.argv[1])
from camshaft import messaging
sub = messaging.SubMaster(["controls"], prefix=sys.argv[2])
try:
    print("ready", flush=True)
    sub.update(600)
except KeyboardInterrupt:
    print("interrupted")
"""


@unittest.skipIf(CHECKED, "the library has a sanitizer")
class Messages(unittest.TestCase):

    def setUp(self):
        self.domain = QueueDomain()
        self.addCleanup(self.domain.__exit__)

    def start_sender(self, period_s=0.01):
        sender = subprocess.Popen(
            [sys.executable, "-c", SENDER, os.path.join(ROOT, "tools/python"), self.domain.prefix,
             str(period_s)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(sender.stdout.close)
        self.addCleanup(sender.wait)
        self.addCleanup(sender.kill)
        self.assertEqual(sender.stdout.readline(), "ready\n")
        return sender

    def run_verb(self, *arguments, program=CAMSHAFT):
        return camshaft(*arguments, "--prefix", self.domain.prefix, program=program)

    def test_echo_prints_messages_as_they_come(self):
        self.start_sender()
        for program in (CAMSHAFT, DEVICE_CAMSHAFT):
            if not os.path.exists(program):  # a checked build has no device build
                continue
            done = self.run_verb("echo", "controls", "--count", "3", "--json", program=program)
            self.assertEqual(done.returncode, 0, done.stderr)
            messages = json.loads(done.stdout)["messages"]
            self.assertEqual(len(messages), 3)
            ids = [m["message"]["controls"]["modelFrameId"] for m in messages]
            self.assertEqual(ids, list(range(ids[0], ids[0] + 3)))
            self.assertEqual(messages[0]["message"]["controls"]["alert"], "number %d" % ids[0])
            self.assertEqual(messages[0]["sequence"], ids[0] + 1)

        lines = self.run_verb("echo", "controls", "--count", "2", "--lines")
        self.assertEqual([json.loads(l)["topic"] for l in lines.stdout.splitlines()],
                         ["controls", "controls"])
        text = self.run_verb("echo", "controls", "--count", "1").stdout
        self.assertRegex(text, r"^controls #\d+, \d+ bytes, [\d.]+ \w+ old\n")
        self.assertRegex(text, r"\n  alert: number \d+\n")

    def test_echo_ends_well_when_interrupted(self):
        self.start_sender()
        echo = subprocess.Popen([CAMSHAFT, "echo", "controls", "--lines", "--prefix",
                                 self.domain.prefix], stdout=subprocess.PIPE, text=True)
        json.loads(echo.stdout.readline())
        echo.send_signal(signal.SIGINT)
        for line in echo.communicate()[0].splitlines():
            json.loads(line)
        self.assertEqual(echo.returncode, 0)

    def test_python_ends_at_once_when_interrupted(self):
        waiter = subprocess.Popen(
            [sys.executable, "-c", WAITER, os.path.join(ROOT, "tools/python"), self.domain.prefix],
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(waiter.stdout.close)
        self.addCleanup(waiter.wait)
        self.addCleanup(waiter.kill)
        self.assertEqual(waiter.stdout.readline(), "ready\n")
        waiter.send_signal(signal.SIGINT)
        self.assertEqual(waiter.communicate(timeout=300)[0], "interrupted\n")

    def test_the_example_answers_messages(self):
        example = subprocess.Popen([os.path.join(ROOT, BUILD, "tools/examples/controls_by_speed"), "3"],
                                   env={**os.environ, "CAMSHAFT_PREFIX": self.domain.prefix},
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(example.kill)
        with messaging.SubMaster([("controls", {"conflate": 0})], prefix=self.domain.prefix) as sub, \
                messaging.PubMaster(["vehicleState"], prefix=self.domain.prefix) as pub:
            while example.poll() is None:
                state = messaging.new_message("vehicleState")
                state.vehicleState.speedMps = 27.5
                pub.send("vehicleState", state)
                sub.update(0.01)
            self.assertEqual(example.returncode, 0, example.stderr.read())
            example.stderr.close()
            self.assertTrue(sub["controls"].valid)
            self.assertEqual(sub.message("controls").controls.brake, 0.5)

    def test_what_does_not_wake_is_updated_by_a_long_wait(self):
        with messaging.PubMaster(["health"], prefix=self.domain.prefix) as pub, \
                messaging.SubMaster(["controls", ("health", {"wakes": 0})],
                                    prefix=self.domain.prefix) as sub:
            pub.send("health", messaging.new_message("health"))
            self.assertFalse(sub.update(0.5))  # several of its slices
            self.assertTrue(sub["health"].updated)
            self.assertFalse(sub["controls"].updated)
            self.assertFalse(sub.update())
            self.assertFalse(sub["health"].updated)

    def test_a_closed_submaster_is_not_fine(self):
        sub = messaging.SubMaster(["controls"], prefix=self.domain.prefix)
        sub.close()
        for use in (sub.update, sub.all_ok, sub.complaint, lambda: sub.json("controls")):
            with self.assertRaises(messaging.Error):
                use()

    def test_a_forked_python_leaves_the_topics_to_its_parent(self):
        with messaging.PubMaster(["controls"], prefix=self.domain.prefix) as pub, \
                messaging.SubMaster(["controls"], prefix=self.domain.prefix) as sub:
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    try:
                        pub.send("controls", messaging.new_message("controls"))
                    except messaging.Error as error:
                        code = 0 if "belongs to the process that forked" in str(error) else 2
                    pub.close()
                    sub.close()
                finally:
                    os._exit(code)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            pub.send("controls", messaging.new_message("controls"))
            self.assertTrue(sub.update(60))
            self.assertEqual(sub["controls"].sequence, 1)

    def test_a_slip_in_a_topic_is_answered_with_the_name(self):
        hint = "'contorls' (did you mean 'controls'?)"
        self.assertIn(hint, self.run_verb("echo", "contorls", "--timeout", "0.1").stderr)
        (line,) = self.run_verb("top", "contorls", "--json").stderr.splitlines()
        self.assertIn("there is no topic " + hint, line)
        for verb in (["echo", "carState", "--timeout", "0.1"], ["top", "carState", "--json"]):
            self.assertNotIn("did you mean", self.run_verb(*verb).stderr)

    def test_echo_waits_for_a_topic_and_tells_when_none_comes(self):
        done = self.run_verb("echo", "controls", "--timeout", "0.2")
        self.assertEqual(done.returncode, 6)
        self.assertEqual(done.stderr.splitlines(), [
            "camshaft echo: note: 'controls' has no publisher yet, or it has another --prefix: "
            "waiting for one",
            "camshaft echo: error: no message came on 'controls' within 0.2 s"])
        with messaging.PubMaster(["controls"], prefix=self.domain.prefix):
            done = self.run_verb("echo", "controls", "--timeout", "0.2")
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)  # it has one that is silent
        done = self.run_verb("echo", "controls", "--timeout", "0.2")
        self.assertIn("note: 'controls' has no publisher any more: waiting", done.stderr)
        echo = subprocess.Popen([CAMSHAFT, "echo", "controls", "--count", "1", "--json", "--prefix",
                                 self.domain.prefix], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True)
        self.start_sender()
        self.assertEqual(len(json.loads(echo.communicate()[0])["messages"]), 1)

    def test_top_shows_rates_and_who_reads(self):
        sender = self.start_sender(0.02)
        with messaging.SubMaster(["controls"], name="viewer", prefix=self.domain.prefix) as sub:
            sub.update(60)
            for _ in range(60):  # on a busy machine the sender may not come to send for long
                done = self.run_verb("top", "--interval", "1", "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                (topic,) = json.loads(done.stdout)["topics"]
                if topic["rate_hz"] > 0 and topic["readers"][0]["behind"] > 0:
                    break
            self.assertEqual(topic["topic"], "controls")
            self.assertEqual(topic["publisher_pid"], sender.pid)
            self.assertEqual(topic["nominal_hz"], 100)
            self.assertGreater(topic["rate_hz"], 0)
            self.assertLess(topic["rate_hz"], 55)  # it sleeps 20 ms between messages
            self.assertGreater(topic["bytes_per_s"], 100 * topic["rate_hz"])
            (reader,) = topic["readers"]
            self.assertEqual((reader["name"], reader["pid"]), ("viewer", os.getpid()))
            self.assertGreater(reader["behind"], 0)  # it has not read meanwhile
            text = self.run_verb("top", "--interval", "0.2", "--count", "2").stdout
            self.assertEqual(text.count("topic "), 2)
            self.assertRegex(text, r"controls +\d+\.\d Hz !.* viewer \(\d+ behind\)")
        sender.kill()
        sender.wait()
        (topic,) = json.loads(self.run_verb("top", "--interval", "0.1", "--json").stdout)["topics"]
        self.assertFalse(topic["has_publisher"])
        self.assertEqual(topic["rate_hz"], 0)
        self.assertEqual(topic["readers"], [])

    def test_top_says_which_topics_are_damaged(self):
        with messaging.PubMaster(["controls"], prefix=self.domain.prefix):
            with open(os.path.join(self.domain.folder, "broken"), "wb") as f:
                f.write(b"x" * 5000)
            done = self.run_verb("top", "--interval", "0.01", "--count", "3")
            self.assertEqual(done.returncode, 0)
            self.assertEqual(done.stderr, "camshaft top: note: 'broken' is left out: corrupt; name "
                                          "it to see why\n")
            self.assertEqual(done.stdout.count("controls"), 3)
            named = self.run_verb("top", "broken", "--interval", "0.01")
            self.assertEqual(named.returncode, 7)
            self.assertIn("is not a topic: wrong first bytes", named.stderr)

    def test_mistakes_are_one_sentence_each(self):
        for arguments, code, what in (
                (("echo", "a/b"), 2, "'a/b' can't be a topic's name"),
                (("echo",), 2, "topic is required"),
                (("echo", "controls", "--lines", "--json"), 2, "--lines and --json exclude"),
                (("top", "no-such"), 2, "no-such"),
                (("top", "--interval", "0"), 2, "--interval")):
            with self.subTest(arguments):
                done = self.run_verb(*arguments)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(what, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        empty = self.run_verb("top", "--interval", "0.01")
        self.assertEqual(empty.returncode, 0)
        self.assertIn("no topics", empty.stdout)


if __name__ == "__main__":
    unittest.main()
