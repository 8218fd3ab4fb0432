// SPDX-License-Identifier: MIT
// The CPU as a device: kernels are machine code that a plan brings, buffers are memory of the
// process, and a submit runs the work on the caller's thread and a pool.
#pragma once

#include <memory>
#include <vector>

#include "devices/hal/registry.h"
#include "devices/hwio/memory.h"

namespace camshaft::cpu {

// This machine's processor, as one device with a thread for each usable CPU.
std::vector<hal::DeviceInfo> probe();

// Starts the threads. import_memory() takes 64-byte-aligned host pointers; kernels see them as they
// are, so the owner's writes before submit() are seen and nothing needs flushing. submit() returns
// when the work is done, so wait() never blocks. There are no faults: reset() does nothing.
hal::Result<std::unique_ptr<hal::Device>> open(const hal::OpenOptions& options);

// The same with other memory calls, which must outlive the device: for tests that make them fail.
hal::Result<std::unique_ptr<hal::Device>> open_with(const hal::OpenOptions& options,
                                                    hwio::MemoryCalls& calls);

}  // namespace camshaft::cpu
