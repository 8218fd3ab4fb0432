# SPDX-License-Identifier: MIT
"""tools/bench_peers: its arithmetic, tables and protocol, what it says of what is absent, and a
small network from end to end."""

import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import replace
from unittest import mock

import numpy as np
import onnx
from e2e import BUILD, ROOT, make_model
from onnx import TensorProto, helper

sys.path.insert(0, os.path.join(ROOT, "tools"))

from bench_peers import command, figures, loading, reference, rounds, subjects, table  # noqa: E402
from bench_peers.client import Client, EngineFailed  # noqa: E402
from bench_peers.figures import Timing  # noqa: E402
from bench_peers.places import LIBRARY, Absent, one_sentence  # noqa: E402
from bench_peers.roster import DEFAULT, ROSTER, Peer  # noqa: E402

SUPPORT = os.path.join(ROOT, "tests", "support")
CPUS = tuple(sorted(os.sched_getaffinity(0)))[:1]


def quiet(_):
    """Progress that nobody sees."""


def fake_peer(mode="", name="fake", needs=sys.executable):
    """tests/support/fake_engine.py as a peer."""
    return Peer(name, "fake_engine", sys.executable, needs, "nobody can", converts=True,
                environment=lambda threads, cpus, beam: {"FAKE_ENGINE": mode})


def is_alive(pid):
    """Whether a process is there and is no zombie."""
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Figures(unittest.TestCase):
    def test_percentiles_are_samples(self):
        samples = [5.0, 1.0, 3.0, 2.0, 4.0]
        self.assertEqual([figures.percentile(samples, p) for p in (1, 20, 21, 50, 99, 100)],
                         [1.0, 1.0, 2.0, 3.0, 5.0, 5.0])

    def test_a_paired_ratio_ignores_what_slows_both(self):
        ours, theirs = Timing([[1.0], [30.0], [1.0]]), Timing([[2.0], [60.0], [2.0]])
        self.assertEqual(figures.paired_ratio(ours, theirs), 0.5)
        # A round in which only one was slowed is outvoted.
        self.assertEqual(figures.paired_ratio(Timing([[1.0], [9.0], [1.0]]), theirs), 0.5)

    def test_a_slower_round_is_no_jitter(self):
        timing = Timing([[1.0, 1.0, 1.2], [3.0, 3.0, 3.6], [1.0, 1.0, 9.0]])
        self.assertAlmostEqual(timing.jitter(), 1.2)

    def test_less_steady_is_more_than_chance(self):
        def timing(*tails):
            return Timing([[1.0, 1.0, tail] for tail in tails])

        steady = timing(*[1.1] * 7)
        self.assertTrue(figures.is_less_steady(timing(*[1.2] * 7), steady))
        self.assertTrue(figures.is_less_steady(timing(1.0, *[1.2] * 6), steady))
        self.assertFalse(figures.is_less_steady(timing(1.0, 1.0, *[9.0] * 5), steady))
        self.assertFalse(figures.is_less_steady(steady, steady))
        self.assertTrue(figures.is_less_steady(timing(*[1.2] * 5), timing(*[1.1] * 5)))
        self.assertFalse(figures.is_less_steady(timing(1.0, *[1.2] * 4), timing(*[1.1] * 5)))
        self.assertFalse(figures.is_less_steady(timing(*[1.2] * 4), timing(*[1.1] * 4)))

    def test_the_best_peer_is_never_ours(self):
        timings = {"camshaft": Timing([[1.0]]), "a": Timing([[3.0]]), "b": Timing([[2.0]])}
        self.assertEqual(figures.best_peer(timings, ("camshaft",)), "b")
        self.assertIsNone(figures.best_peer({"camshaft": Timing([[1.0]])}, ("camshaft",)))

    def test_means_and_shares(self):
        self.assertAlmostEqual(figures.geometric_mean([0.5, 2.0, 8.0]), 2.0)
        self.assertIsNone(figures.geometric_mean([]))
        self.assertAlmostEqual(figures.share_of_peak(5e9, 100.0, 100.0), 0.5)

    def test_errors_are_shares_of_the_tolerance(self):
        def error(actual, expected):
            return figures.error_in_tolerances([np.array(actual)], [np.array(expected)], 0.1, 1.0)

        self.assertEqual(error([1.0, 2.0], [1.0, 2.0]), 0)
        self.assertAlmostEqual(error([14.0, 0.0], [10.0, 0.0]), 2.0)
        self.assertEqual(error([1.0], [1.0, 2.0]), math.inf)
        self.assertEqual(error([math.nan], [1.0]), math.inf)
        self.assertEqual(error([[1.0, 2.0]], [1.0, 2.0]), 0)  # without a batch axis
        self.assertEqual(figures.error_in_tolerances([], [np.zeros(1)], 0.1, 1.0), math.inf)

    def test_a_sentence_is_the_last_line(self):
        self.assertEqual(one_sentence("Traceback\n  the  reason \n\n"), "the reason")
        self.assertEqual(len(one_sentence("x" * 1000)), 240)
        self.assertTrue(one_sentence(""))


class Tables(unittest.TestCase):
    def setUp(self):
        timings = {"camshaft": Timing([[1.0, 1.0], [2.0, 2.0]]), "ncnn": Timing([[2.0], [4.0]]),
                   "mnn": Timing([[5.0], [5.0]])}
        self.good = rounds.Outcome("good", 1, timings, {"camshaft": 0.25}, {},
                                   {"tinygrad": "it is not there"}, 1e9, 1000.0)
        slow = {"camshaft": Timing([[3.0]]), "ncnn": Timing([[2.0]])}
        self.bad = rounds.Outcome("bad", 1, slow, error_reason="no oracle")

    def test_a_network(self):
        lines = table.outcome_text(self.good).splitlines()
        self.assertEqual(lines[0], "good, 1 thread")
        self.assertEqual(lines[2].split(), ["camshaft", "1.000", "1.000", "2.000", "1.00", "0.50",
                                           "100", "%", "0.25", "4"])
        self.assertIn("ncnn *", lines[3])
        self.assertEqual(lines[-1], "tinygrad: it is not there")
        self.assertNotIn("!", table.outcome_text(self.good))
        self.good.errors["mnn"] = 1.5
        self.assertIn("1.5 !", table.outcome_text(self.good))
        self.assertIn("no errors: no oracle", table.outcome_text(self.bad))

    def test_a_reason_is_said_once(self):
        self.assertEqual(table.reason_lines({"c": "gone", "a": "gone", "b": "broken"}),
                         ["a, c: gone", "b: broken"])
        rows = [loading.Row("net", name, 1, reason="gone") for name in "ab"]
        rows.insert(1, loading.Row("net", "c", 1, 1.0, 2.0, added_mib=3.0))
        self.assertEqual(loading.network_text(rows).splitlines(), [
            "net, c: opened in 1.00 ms, first run 2.00 ms, 3.0 MiB", "net, a, b: gone"])

    def test_the_summary_names_where_we_lose(self):
        text = table.summary_text([self.good, self.bad])
        self.assertIn("over 2: 0.87", text)
        self.assertIn("slower: bad, 1 thread, 1.50 of ncnn", text)
        self.assertIn("best peer's: 1.00 in geometric mean; fewer than 5 rounds on 2, too few to "
                      "tell worse from chance", text)
        self.assertNotIn("worse by more than chance", text)
        self.assertNotIn("good", text)
        self.assertEqual(table.summary_text([]), "")

    def test_markdown_has_a_row_a_network(self):
        lines = table.markdown([self.good, self.bad], ["camshaft", "ncnn", "tinygrad"]).splitlines()
        self.assertEqual(lines[2], "| good | 1 | 1.00 | 2.00 | - | **0.50** | 1.00 | 1.00 | 100 % "
                                   "| 0.25 |")
        self.assertEqual({line.count("|") for line in lines}, {lines[0].count("|")})

    def test_the_summary_names_where_we_are_less_steady(self):
        timings = {"camshaft": Timing([[1.0, 1.5]] * 5), "ncnn": Timing([[2.0, 2.2]] * 5)}
        text = table.summary_text([rounds.Outcome("shaky", 2, timings)])
        self.assertIn("1.36 in geometric mean; worse by more than chance on 1 of 1\n", text)
        self.assertIn("less steady: shaky, 2 threads, 1.50 against 1.10", text)

    def test_json_has_samples_and_means(self):
        document = json.loads(json.dumps(table.as_json([self.good, self.bad])))
        self.assertEqual(document["outcomes"][0]["engines"]["ncnn"]["rounds_ms"], [[2.0], [4.0]])
        self.assertAlmostEqual(document["geometric_mean"]["1"], (0.5 * 1.5)**0.5)

    def test_engines_begin_in_turn(self):
        names = ["a", "b", "c"]
        self.assertEqual([rounds.order_of_round(names, i)[0] for i in range(4)],
                         ["a", "b", "c", "a"])
        self.assertEqual(sorted(rounds.order_of_round(names, 2)), names)


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def prepared(self):
        """A small network with two layers."""
        source = self.path("source.onnx")
        random = np.random.default_rng(0)
        weight = random.standard_normal((8, 3, 3, 3)).astype(np.float32)
        make_model(source, [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4),
                            helper.make_node("Relu", ["c"], ["y"])],
                   {"x": [1, 3, 16, 16]}, {"y": [1, 8, 16, 16]}, {"w": weight})
        return subjects.prepare(subjects.Subject("small", source), self.folder)


class Protocol(WithFolder):
    def client(self, mode=""):
        client = Client(fake_peer(mode), 1, CPUS, self.path("log"), paths=[SUPPORT])
        self.addCleanup(client.close)
        return client

    def opened(self, mode=""):
        np.savez(self.path("in.npz"), x=np.arange(3.0))
        client = self.client(mode)
        return client, client.ask("open", path="", inputs=self.path("in.npz"), outputs=["y"],
                                  threads=1)

    def state(self, client):
        """The letter that the system has for the process, T being stopped."""
        with open("/proc/%d/stat" % client.pid, encoding="ascii") as f:
            return f.read().rpartition(")")[2].split()[0]

    def test_questions_are_answered(self):
        client, opened = self.opened()
        self.assertGreater(opened["base_kb"], 0)
        self.assertEqual(client.ask("convert", model="m", inputs="", folder="", threads=1),
                         {"path": "m"})
        burst = client.ask("burst", seconds=0, least=4, warmup=1)
        self.assertEqual(len(burst["ms"]), 4)
        self.assertEqual(len(client.ask("burst", seconds=0, least=2, warmup=0,
                                        clock="cpu")["ms"]), 2)
        client.ask("outputs", path=self.path("out.npz"))
        [output] = reference.read_arrays(self.path("out.npz"))
        np.testing.assert_array_equal(output, [0, 2, 4])
        self.assertGreaterEqual(client.ask("memory")["peak_kb"], opened["base_kb"])

    def test_a_process_is_stopped_while_it_is_not_asked(self):
        client, _ = self.opened("spin")
        deadline = time.monotonic() + 10
        while self.state(client) != "T" and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(self.state(client), "T")
        # While it is asked it runs, and spinning is noticed.
        self.assertGreater(client.ask("idle", seconds=0.3)["cpu_ms"], 1)

    def test_a_priority_is_for_an_engine_s_threads(self):
        def policies(priority):
            client = Client(fake_peer("spin"), 1, CPUS, self.path("log"), paths=[SUPPORT],
                            priority=priority)
            with client:
                np.savez(self.path("in.npz"), x=np.arange(3.0))
                client.ask("open", path="", inputs=self.path("in.npz"), outputs=["y"], threads=1)
                return [os.sched_getscheduler(int(thread))
                        for thread in os.listdir("/proc/%d/task" % client.pid)]

        self.assertEqual(set(policies(0)), {os.SCHED_OTHER})
        try:
            found = policies(1)
        except EngineFailed as failure:
            self.assertIn("PermissionError", str(failure))
            self.skipTest("no right to real-time priorities")
        # The main thread and the engine's; numpy has started others before.
        self.assertGreaterEqual(found.count(os.SCHED_RR), 2)

    def test_an_idle_engine_takes_no_time(self):
        client, _ = self.opened()
        self.assertLess(client.ask("idle", seconds=0.3)["cpu_ms"], 50)

    def test_processes_end_with_the_one_that_asks(self):
        script = """
import os, sys
from bench_peers.client import Client
from bench_peers.roster import ROSTER
client = Client(ROSTER["onnxruntime"], 1, [int(sys.argv[1])], sys.argv[2])
print(client.pid, flush=True)
os.kill(os.getpid(), 9)
"""
        done = subprocess.run([sys.executable, "-c", script, str(CPUS[0]), self.path("log")],
                              stdout=subprocess.PIPE, text=True, check=False,
                              env=dict(os.environ, PYTHONPATH=os.path.join(ROOT, "tools")))
        deadline = time.monotonic() + 10
        while is_alive(int(done.stdout)) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertFalse(is_alive(int(done.stdout)))

    def test_failures_are_sentences(self):
        with self.assertRaises(EngineFailed) as failed:
            self.opened("fail")
        self.assertEqual(str(failed.exception), "the reason")
        with self.assertRaises(EngineFailed) as died:
            self.opened("die")
        self.assertEqual(str(died.exception),
                         "ended with signal SIGABRT; it last said: its last words")

    def test_an_engine_that_can_not_be_imported(self):
        peer = replace(fake_peer(), module="no_such_engine")
        with self.assertRaises(EngineFailed) as failed:
            Client(peer, 1, CPUS, self.path("log"))
        self.assertIn("no_such_engine", str(failed.exception))


class Command(WithFolder):
    def test_absent_and_failing_engines_stop_nothing(self):
        prepared = self.prepared()
        peers = {"fake": fake_peer(), "gone": fake_peer(name="gone", needs="/no/such/file"),
                 "broken": fake_peer("fail", "broken")}
        settings = rounds.Settings(1, CPUS, rounds=2, seconds=0, least=2)
        with mock.patch.dict(ROSTER, peers, clear=True), mock.patch.dict(
                os.environ, {"PYTHONPATH": SUPPORT}), mock.patch.object(
                    rounds, "Client", lambda *a, **k: Client(*a, paths=[SUPPORT], **k)):
            outcome = rounds.measure(prepared, list(peers), settings, quiet)
        self.assertEqual(list(outcome.timings), ["fake"])
        self.assertEqual(outcome.reasons["gone"], "/no/such/file is not there: nobody can")
        self.assertEqual(outcome.reasons["broken"], "the reason")
        self.assertEqual(outcome.errors["fake"], math.inf)  # doubling is not what the network does

    def test_a_network_that_is_not_there(self):
        with self.assertRaises(Absent) as absent:
            subjects.prepare(subjects.Subject("none", "/no/such.onnx"), self.folder)
        self.assertEqual(str(absent.exception), "/no/such.onnx is not on this machine")

    def test_inputs_get_their_extents(self):
        source = self.path("free.onnx")
        make_model(source, [helper.make_node("Relu", ["x"], ["y"])], {"x": ["batch", 4]},
                   {"y": ["batch", 4]})
        given = {"x": np.ones((3, 4), np.float32)}
        prepared = subjects.prepare(subjects.Subject("free", source, given), self.folder)
        [value] = reference.read_arrays(prepared.inputs)
        self.assertEqual(value.shape, (3, 4))
        self.assertEqual(rounds.output_names(prepared), ["y"])
        np.testing.assert_array_equal(reference.expected_outputs(prepared)[0], given["x"])

    def test_a_file_is_a_network(self):
        source = self.path("free.onnx")
        make_model(source, [helper.make_node("Relu", ["x"], ["y"])], {"x": ["batch", 4]},
                   {"y": ["batch", 4]})
        options = command.parse(["--networks", "roadnet," + source, "--shape", "x=3x4"],
                                subjects.all_subjects())
        self.assertEqual([subject.name for subject in options.networks], ["roadnet", "free"])
        prepared = subjects.prepare(options.networks[1], self.folder)
        [value] = reference.read_arrays(prepared.inputs)
        self.assertEqual(value.shape, (3, 4))
        self.assertGreater(np.std(value), 0)

        other = self.path("other.onnx")
        with open(other, "w", encoding="utf-8") as f:
            f.write("no model")
        for names, shapes, said in (([source], {}, "give --shape x=?x4"),
                                    ([source], {"x": [3]}, "x=3 does not fit its shape ?x4"),
                                    ([source], {"x": [3, 5]}, "x=3x5 does not fit"),
                                    ([source], {"x": [3, 4], "z": [1]}, "--shape z: no file"),
                                    (["roadnet"], {"x": [3, 4]}, "--shape x: no file"),
                                    (["/no/such.onnx"], {}, "there is no such file"),
                                    ([other], {}, "is not an ONNX file"),
                                    (["none"], {}, "none is none of roadnet"),
                                    (["raodnet"], {}, "(did you mean roadnet?) is none")):
            with self.assertRaisesRegex(ValueError, re.escape(said)):
                command.networks(names, shapes, subjects.all_subjects())

    def test_inputs_of_bytes_become_floats(self):
        source = self.path("bytes.onnx")
        model = helper.make_model(helper.make_graph(
            [helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT),
             helper.make_node("Relu", ["f"], ["y"])], "bytes",
            [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 4])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])]), ir_version=8,
            opset_imports=[helper.make_opsetid("", 17)])
        onnx.save(model, source)
        prepared = subjects.prepare(subjects.Subject("bytes", source), self.folder)
        floats = subjects.with_floats(prepared)
        [node] = onnx.load(floats.model).graph.node
        self.assertEqual((node.op_type, list(node.input)), ("Relu", ["x"]))
        [value], [original] = map(reference.read_arrays, (floats.inputs, prepared.inputs))
        self.assertEqual((value.dtype, original.dtype), (np.float32, np.uint8))
        np.testing.assert_array_equal(value, original)
        self.assertIs(subjects.with_floats(floats), floats)

    def test_wrong_options_are_refused(self):
        known = subjects.all_subjects()
        for wrong in (["--peers", "nobody"], ["--networks", "none"], ["--threads", "0"],
                      ["--threads", "9999"], ["--shape", "x=1x"], ["--shape", "1x3"],
                      ["--threads", "2", "--clock", "cpu"]):
            with self.assertRaises(SystemExit), open(os.devnull, "w", encoding="utf-8") as null:
                with mock.patch("sys.stderr", null):
                    command.parse(wrong, known)
        self.assertEqual(command.parse([], known).peers, DEFAULT)


@unittest.skipUnless(os.path.exists(LIBRARY), "no device build")
class EndToEnd(WithFolder):
    PEERS = ["camshaft", "onnxruntime"]

    def test_both_engines_are_timed_and_right(self):
        settings = rounds.Settings(1, CPUS, rounds=2, seconds=0, least=3)
        outcome = rounds.measure(self.prepared(), self.PEERS, settings, quiet)
        self.assertEqual(outcome.reasons, {})
        self.assertEqual(outcome.error_reason, "")
        for name in self.PEERS:
            self.assertEqual([len(burst) for burst in outcome.timings[name].rounds], [3, 3])
            self.assertLess(outcome.errors[name], 1)
        self.assertGreater(outcome.flops, 2 * 8 * 3 * 9 * 14 * 14)
        self.assertGreater(outcome.peak_gflops, 1)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one CPU")
    def test_two_threads(self):
        cpus = tuple(sorted(os.sched_getaffinity(0))[:2])
        settings = rounds.Settings(2, cpus, rounds=1, seconds=0, least=2)
        outcome = rounds.measure(self.prepared(), self.PEERS, settings, quiet)
        self.assertEqual(outcome.reasons, {})
        self.assertEqual(sorted(outcome.timings), sorted(self.PEERS))
        self.assertGreater(outcome.peak_gflops, 1)

    def test_loading(self):
        settings = rounds.Settings(1, CPUS)
        with mock.patch.object(loading, "PROCESSES", 1):
            rows = loading.measure(self.PEERS, self.prepared(), settings, quiet)
        for row in rows:
            self.assertEqual(row.reason, "")
            self.assertGreater(row.load_ms, 0)
            self.assertGreater(row.first_ms, 0)
        self.assertGreater(rows[0].program_mib, rows[0].planned_mib)
        self.assertIsNone(rows[1].program_mib)
        self.assertIn("camshaft", loading.text(rows))

    def test_the_first_result_beside_onnxruntimes(self):
        def row(engine, threads, load_ms, first_ms):
            return loading.Row("net", engine, threads, load_ms, first_ms)
        rows = [row("camshaft", 1, 3.0, 1.0), row("camshaft", 2, 1.0, 1.0), row("mnn", 1, None, None),
                row("onnxruntime", 1, 30.0, 10.0), row("onnxruntime", 2, 6.0, 2.0)]
        self.assertEqual([loading.to_yardstick(r, rows) for r in rows], [0.1, 0.25, None, 1.0, 1.0])
        self.assertIsNone(loading.to_yardstick(rows[0], rows[:1]))

    def test_the_command_prints_and_writes(self):
        result = self.path("result.json")
        done = subprocess.run(
            [sys.executable, os.path.join(ROOT, "tools", "bench_peers"), "--networks", "roadnet",
             "--peers", ",".join(self.PEERS), "--rounds", "1", "--seconds", "0", "--least", "2",
             "--markdown", "--json", result], capture_output=True, text=True, check=False,
            env=dict(os.environ, CAMSHAFT_BUILD=BUILD))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("roadnet, 1 thread", done.stdout)
        self.assertIn("| roadnet | 1 |", done.stdout)
        with open(result, encoding="utf-8") as f:
            [outcome] = json.load(f)["outcomes"]
        self.assertEqual(sorted(outcome["engines"]), sorted(self.PEERS))


if __name__ == "__main__":
    unittest.main()
