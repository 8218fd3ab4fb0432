# SPDX-License-Identifier: MIT
"""One file an engine. Each has a class Engine:

    Engine.convert(model, inputs, folder,     the file that is opened, made of the ONNX file by the
                   threads)                   engine's own converter; only where the roster says
                                              that it converts
    Engine(path, inputs, output_names,        opened and ready; inputs by name, in the order of the
           threads, cpus)                     model, already in the engine's memory where it lets
                                              one write there
    engine.run()                              once, until all outputs are in this process's memory
    engine.outputs()                          of the last run, as arrays, in the order of the names

A constructor raises any exception where it can't; its last line is shown. Settings are those that
the engine's documentation names for latency at batch 1 in float32. Importing the file imports the
engine, after the process was pinned.
"""
