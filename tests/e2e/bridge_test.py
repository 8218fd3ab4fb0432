# SPDX-License-Identifier: MIT
"""The bridge program: topics from one domain to another through a port of this machine."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tools/python"), os.path.join(ROOT, "tests/support")]

from e2e import BUILD  # noqa: E402
from queue_domain import QueueDomain  # noqa: E402

# A Python that was not built with a sanitizer can't load a library that was.
CHECKED = "sanitize-" in BUILD
if not CHECKED:
    from camshaft import messaging

BRIDGE = os.path.join(BUILD, "tools/bridge/bridge")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@unittest.skipIf(CHECKED, "the library has a sanitizer")
class Bridge(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.endpoint = "tcp://127.0.0.1:%d" % free_port()
        self.domains = {name: QueueDomain() for name in ("vehicle", "desk")}
        for domain in self.domains.values():
            self.addCleanup(domain.__exit__)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_bridge(self, *arguments):
        return subprocess.run([BRIDGE, *arguments], capture_output=True, text=True)

    def make_keys(self, name):
        done = self.run_bridge("--make-keys", self.path(name + ".keys"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def start(self, name, *arguments):
        bridge = subprocess.Popen([BRIDGE, "--keys", self.path(name + ".keys"), "--prefix",
                                   self.domains[name].prefix, *arguments],
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(bridge.stdout.close)
        self.addCleanup(bridge.wait)
        self.addCleanup(bridge.terminate)
        self.assertEqual(bridge.stdout.readline(), "ready\n")
        return bridge

    def allow(self, *keys):
        with open(self.path("allowed"), "w", encoding="utf-8") as f:
            f.write("# desks\n" + "".join(k + "\n" for k in keys))
        return self.path("allowed")

    def carry(self, allowed):
        """What arrives at the desk until something does, or for a while after the vehicle's bridge
        has refused it; and what that bridge reports."""
        vehicle_key, desk_key, other = (self.make_keys(n) for n in ("vehicle", "desk", "other"))
        vehicle = self.start("vehicle", "--allow",
                             self.allow({"desk": desk_key, "other": other}[allowed]),
                             "--export", "health,controls", "--export-at", self.endpoint,
                             "--report", "0.1")
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(iter(vehicle.stdout.readline, "")))
        reader.start()
        self.start("desk", "--server-key", vehicle_key, "--import", "health,controls",
                   "--import-from", self.endpoint)
        got = None
        with messaging.PubMaster(["health"], prefix=self.domains["vehicle"].prefix) as pub, \
                messaging.SubMaster(["health"], prefix=self.domains["desk"].prefix) as sub:
            left = 3000
            while left > 0 and not got:
                if left > 50 and any(re.search(r"[1-9]\d* refused", line) for line in list(lines)):
                    left = 50
                left -= 1
                message = messaging.new_message("health")
                message.health.process = "modeld"
                pub.send("health", message)
                if sub.update(0.02):
                    got = sub.message("health").health.process
        vehicle.terminate()
        reader.join()
        return got, "".join(lines)

    def test_topics_cross(self):
        got, report = self.carry("desk")
        self.assertEqual(got, "modeld")
        self.assertRegex(report, r"export health: [1-9]\d* messages")
        self.assertEqual(report.splitlines()[-1], "peers: 1 let in, 0 refused")

    def test_who_is_not_allowed_gets_nothing(self):
        got, report = self.carry("other")
        self.assertIsNone(got)
        self.assertRegex(report, r"peers: 0 let in, [1-9]\d* refused")

    def test_bridges_that_are_killed_are_found_again(self):
        """Each end in turn, and rubbish at the port between."""
        vehicle_key, desk_key = (self.make_keys(n) for n in ("vehicle", "desk"))
        ends = {"vehicle": ("--allow", self.allow(desk_key), "--export", "health",
                            "--export-at", self.endpoint),
                "desk": ("--server-key", vehicle_key, "--import", "health",
                         "--import-from", self.endpoint)}
        bridges = {name: self.start(name, *arguments) for name, arguments in ends.items()}
        with messaging.PubMaster(["health"], prefix=self.domains["vehicle"].prefix) as pub, \
                messaging.SubMaster(["health"], prefix=self.domains["desk"].prefix) as sub:
            def arrives(text):
                for _ in range(3000):
                    message = messaging.new_message("health")
                    message.health.process = text
                    pub.send("health", message)
                    if sub.update(0.02) and sub.message("health").health.process == text:
                        return True
                return False
            self.assertTrue(arrives("first"))
            for killed in ("vehicle", "desk"):
                bridges[killed].kill()
                bridges[killed].wait()
                bridges[killed] = self.start(killed, *ends[killed])
                port = int(self.endpoint.rpartition(":")[2])
                with contextlib.suppress(ConnectionError), \
                        socket.create_connection(("127.0.0.1", port)) as stranger:
                    stranger.sendall(os.urandom(10000))
                self.assertTrue(arrives("after the end of the " + killed))
        for bridge in bridges.values():
            self.assertIsNone(bridge.poll())

    def test_mistakes_are_one_sentence_each(self):
        self.make_keys("vehicle")
        keys = self.path("vehicle.keys")
        self.assertEqual(os.stat(keys).st_mode & 0o777, 0o600)
        with open(self.path("open.keys"), "w", encoding="utf-8") as f:
            f.write("public x\n")
        os.chmod(self.path("open.keys"), 0o644)
        for arguments, what in (
                ((), "name topics"),
                (("--make-keys", keys), "can't make the key file"),
                (("--keys", self.path("none"), "--export", "a", "--export-at", "tcp://*:1"), "none"),
                (("--keys", self.path("open.keys"), "--export", "a", "--export-at", "tcp://*:1"),
                 "others may read the secret key"),
                (("--keys", keys, "--export", "a"), "--export needs either"),
                (("--keys", keys, "--export", "a", "--export-at", "*:9100"),
                 "--export-at *:9100: write tcp://"),
                (("--keys", keys, "--export", "a", "--export-at", "x", "--import", "a",
                  "--import-at", "y"), "it would go in circles"),
                (("--keys", keys, "--import", "a", "--import-from", "tcp://127.0.0.1:1"),
                 "the key of the machine to connect to is no key"),
                (("--keys", keys, "--export", "a", "--export-at", "tcp://nonsense"),
                 "can't wait at tcp://nonsense"),
                *[(("--keys", keys, "--export", "a", "--export-at", "tcp://*:" + port),
                   "--export-at tcp://*:%s: the port is a number from 1 to 65535" % port)
                  for port in ("99999", "65536", "0", "-1", "", "x", "4294967297")],
                (("--keys", keys, "--import", "a", "--import-from", "tcp://host:99999"),
                 "--import-from tcp://host:99999: the port"),
                (("--keys", keys, "--import", "a", "--import-from", "tcp://[::1]"), "the port")):
            with self.subTest(arguments):
                done = self.run_bridge(*arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(what, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
