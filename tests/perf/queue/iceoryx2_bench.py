# SPDX-License-Identifier: MIT
"""Latency of iceoryx2 from its Python package, measured as queue_bench measures: loaned samples, an
event that wakes the receivers, one way, in microseconds.

Needs a Python with the package iceoryx2: pip install iceoryx2. Python's own time is in the figures.
"""

import argparse
import ctypes
import multiprocessing
import os
import struct
import time

import iceoryx2 as iox2

STAMP = struct.Struct("=qQ")


def open_services(name):
    node = iox2.NodeBuilder.new().create(iox2.ServiceType.Ipc)
    service = (node.service_builder(iox2.ServiceName.new(name))
               .publish_subscribe(iox2.Slice[ctypes.c_uint8]).max_subscribers(16).open_or_create())
    event = (node.service_builder(iox2.ServiceName.new(name + "-event")).event()
             .max_listeners(16).open_or_create())
    return node, service, event


def receive(name, ready, results):
    _node, service, event = open_services(name)
    subscriber = service.subscriber_builder().create()
    listener = event.listener_builder().create()
    ready.release()
    latencies = []
    while True:
        sample = subscriber.receive()
        if sample is None:
            listener.timed_wait(iox2.Duration.from_millis(2000))
            continue
        now = time.monotonic_ns()
        sent, number = STAMP.unpack(ctypes.string_at(sample.payload().as_ptr(), STAMP.size))
        if sent == 0:
            break
        if number:
            latencies.append(now - sent)
    results.put(latencies)


def send(name, size, receivers, messages, pause_s, ready):
    _node, service, event = open_services(name)
    publisher = service.publisher_builder().initial_max_slice_len(size).create()
    notifier = event.notifier_builder().create()
    for _ in range(receivers):
        ready.acquire()
    time.sleep(0.05)
    for number in [0] * 10 + list(range(1, messages + 1)) + [-1]:
        sample = publisher.loan_slice_uninit(size)
        stamp = STAMP.pack(0 if number < 0 else time.monotonic_ns(), max(number, 0))
        ctypes.memmove(sample.payload().as_ptr(), stamp, STAMP.size)
        sample.assume_init().send()
        notifier.notify()
        time.sleep(pause_s)


def run_case(size, receivers, messages, pause_s):
    name = "camshaft-bench-%d-%d" % (os.getpid(), time.monotonic_ns())
    context = multiprocessing.get_context("fork")
    ready, results = context.Semaphore(0), context.Queue()
    children = [context.Process(target=receive, args=(name, ready, results))
                for _ in range(receivers)]
    children.append(context.Process(target=send,
                                    args=(name, size, receivers, messages, pause_s, ready)))
    for child in children:
        child.start()
    latencies = [n for _ in range(receivers) for n in results.get(timeout=60)]
    for child in children:
        child.join()
    return latencies


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--messages", type=int, default=300)
    parser.add_argument("--pause-us", type=int, default=1000)
    parser.add_argument("--sizes", default="64,8192,1048576")
    parser.add_argument("--receivers", default="1,4,12")
    parser.add_argument("--raw", action="store_true", help="print every latency, in nanoseconds")
    options = parser.parse_args()
    iox2.set_log_level(iox2.LogLevel.Error)
    for size in map(int, options.sizes.split(",")):
        for receivers in map(int, options.receivers.split(",")):
            all_ns = sorted(n for _ in range(options.rounds) for n in run_case(
                size, receivers, options.messages, options.pause_us * 1e-6))
            if options.raw:
                print("\n".join(map(str, all_ns)))
                continue
            shares = [all_ns[round(p * (len(all_ns) - 1))] / 1000 for p in (0.5, 0.99, 0.999)]
            print("%9d %4d  %-20s %9.2f %9.2f %9.2f" % (size, receivers, "iceoryx2 (Python)", *shares),
                  flush=True)


if __name__ == "__main__":
    main()
