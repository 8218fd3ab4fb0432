# SPDX-License-Identifier: MIT
"""The other end of worker.py: starts an engine's process, asks it, stops it between questions.

A process is stopped (SIGSTOP) whenever it isn't asked, with all its threads: what spins while it
waits for work, as OpenMP's and onnxruntime's threads do, takes nothing from the engine whose turn
it is.
"""

import json
import os
import select
import signal
import subprocess
import time

from bench_peers.places import ROOT, one_sentence


class EngineFailed(Exception):
    """An engine could not do what it was asked. The text is one sentence."""


class Client:
    """One engine's process. `log`: the file of what it prints. `priority`: of SCHED_RR; 0 for
    the scheduler's usual way."""

    def __init__(self, peer, threads, cpus, log, beam=0, paths=(), priority=0):
        self._name, self._log = peer.name, log
        paths = [os.path.join(ROOT, "tools"), *paths]
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(paths),
                           PYTHONDONTWRITEBYTECODE="1", **peer.environment(threads, cpus, beam))
        command = [peer.python, "-m", "bench_peers.worker", peer.module,
                   ",".join(map(str, cpus)), str(priority)]
        with open(log, "wb") as errors:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, stderr=errors,
                                             env=environment)
        self._pending = b""
        try:
            self._answer(120)
        except EngineFailed:
            self.close()
            raise
        self._signal(signal.SIGSTOP)

    @property
    def pid(self):
        """Of the process."""
        return self._process.pid

    def ask(self, do, timeout_s=600, **arguments):
        """Lets the process run until it has answered. Raises EngineFailed."""
        self._signal(signal.SIGCONT)
        try:
            request = json.dumps(dict(arguments, do=do)) + "\n"
            self._process.stdin.write(request.encode())
            self._process.stdin.flush()
            return self._answer(timeout_s)
        except BrokenPipeError:
            raise EngineFailed(self._end()) from None
        finally:
            self._signal(signal.SIGSTOP)

    def close(self):
        """Ends the process."""
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _signal(self, number):
        if self._process.poll() is None:
            self._process.send_signal(number)

    def _answer(self, timeout_s):
        end = time.monotonic() + timeout_s
        while b"\n" not in self._pending:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise EngineFailed("gave no answer within %g s" % timeout_s)
            data = os.read(self._process.stdout.fileno(), 1 << 16)
            if not data:
                raise EngineFailed(self._end())
            self._pending += data
        line, self._pending = self._pending.split(b"\n", 1)
        answer = json.loads(line)
        if "error" in answer:
            raise EngineFailed(one_sentence(answer["error"]))
        return answer

    def _end(self):
        """A sentence about a process that is gone."""
        code = self._process.wait()
        how = "signal %s" % signal.Signals(-code).name if code < 0 else "exit code %d" % code
        with open(self._log, errors="replace", encoding="utf-8") as f:
            said = f.read().strip()
        return "ended with %s%s" % (how, "; it last said: " + one_sentence(said) if said else "")
