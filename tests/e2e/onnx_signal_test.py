# SPDX-License-Identifier: MIT
"""Fourier transforms of every kind of length: the reader, the oracle and compiled code against
numpy."""

import unittest

import numpy as np
import onnx_cases
import peers

RNG = np.random.default_rng(29)

# Direct up to 512; then products of small factors, powers of two, a prime, twice a prime.
LENGTHS = (1, 2, 7, 12, 31, 400, 512, 513, 1024, 1536, 2053, 2074, 6000)


def parts(x):
    """Complex numbers as pairs."""
    return np.stack([x.real, x.imag], -1)


def case_of(name, inputs, expected, opset=20, op_type="DFT", **attributes):
    case = onnx_cases.make_case(name, op_type, inputs, opset, **attributes)
    case.outputs = [expected]
    return case


def dft_cases(n, dtype):
    name = "%s_%d" % (np.dtype(dtype).name, n)
    real = (RNG.standard_normal((2, n)) / np.sqrt(n)).astype(dtype)
    pair = (RNG.standard_normal((2, n, 2)) / np.sqrt(n)).astype(dtype)
    number = pair[..., 0] + 1j * pair[..., 1].astype(np.complex128)
    half = number[:, :n // 2 + 1] * n / 4
    yield case_of("real_" + name, [real[..., None]], parts(np.fft.fft(real)).astype(dtype))
    yield case_of("complex_" + name, [pair], parts(np.fft.fft(number)).astype(dtype))
    yield case_of("inverse_" + name, [pair * dtype(n)],
                  parts(np.fft.ifft(number * n)).astype(dtype), inverse=1)
    yield case_of("onesided_" + name, [real[..., None]], parts(np.fft.rfft(real)).astype(dtype),
                  onesided=1)
    yield case_of("real_inverse_" + name, [parts(half).astype(dtype), np.int64(n)],
                  np.fft.irfft(half, n)[..., None].astype(dtype), onesided=1, inverse=1)


def other_cases():
    x = (RNG.standard_normal((3, 10, 4, 2)) / 3).astype(np.float32)
    number = x[..., 0] + 1j * x[..., 1]
    for axis in (0, 1, -2, -3):
        wanted = parts(np.fft.fft(number, axis=axis + 1 if axis < 0 else axis)).astype(np.float32)
        yield case_of("axis%d" % axis, [x, None, np.int64(axis)], wanted)
    for length in (6, 16):
        yield case_of("length_%d" % length, [x, np.int64(length), np.int64(1)],
                      parts(np.fft.fft(number, length, axis=1)).astype(np.float32))
        yield case_of("length_17_%d" % length, [x, np.int64(length)],
                      parts(np.fft.fft(number, length, axis=1)).astype(np.float32), 17, axis=1)
    long = (RNG.standard_normal((2, 1500, 1)) / 30).astype(np.float32)
    yield case_of("padded_2048", [long, np.int64(2048)],
                  parts(np.fft.fft(long[..., 0], 2048)).astype(np.float32))
    yield case_of("cut_1200", [long, np.int64(1200)],
                  parts(np.fft.fft(long[:, :1200, 0])).astype(np.float32))


def frames_of(x, step, length):
    count = (x.shape[1] - length) // step + 1
    return np.stack([x[:, i * step:i * step + length] for i in range(count)], 1)


def stft_cases():
    x = (RNG.standard_normal((2, 4000)) / 20).astype(np.float32)
    pair = (RNG.standard_normal((2, 300, 2)) / 8).astype(np.float32)
    for step, length in ((160, 400), (100, 100), (500, 1100)):
        window = RNG.uniform(0, 1, length).astype(np.float32)
        cut = frames_of(x, step, length)
        wanted = parts(np.fft.rfft(cut * window)).astype(np.float32)
        case = case_of("stft_%d" % length, [x[..., None], np.int64(step), window, np.int64(length)],
                       wanted, 17, "STFT")
        yield case
        yield onnx_cases.bake(case_of(
            "stft_baked_%d" % length, [x[..., None], np.int64(step), window], wanted, 17, "STFT"),
            {"in2"})
        yield case_of("stft_plain_%d" % length,
                      [x[..., None], np.int64(step), None, np.int64(length)],
                      parts(np.fft.fft(cut)).astype(np.float32), 17, "STFT", onesided=0)
    number = pair[..., 0] + 1j * pair[..., 1]
    yield case_of("stft_complex", [pair, np.int64(30), None, np.int64(64)],
                  parts(np.fft.fft(frames_of(number, 30, 64))).astype(np.float32), 17, "STFT",
                  onesided=0)


class OnnxSignal(unittest.TestCase):
    def check(self, cases, tolerance):
        cases, wrong = peers.refer(cases, rtol=tolerance, atol=tolerance)
        self.assertEqual(wrong, [])
        self.assertEqual(peers.wrong_on_oracle(cases), [])
        for target in peers.TARGETS:
            self.assertEqual(peers.wrong_on_target(cases, target), [])

    def test_every_length(self):
        self.check([case for n in LENGTHS for case in dft_cases(n, np.float32) if
                    not (n == 1 and "real_inverse" in case.name)], 1e-5)

    def test_doubles_keep_their_digits(self):
        self.check([case for n in (12, 2048, 2053) for case in dft_cases(n, np.float64)], 1e-13)

    def test_axes_lengths_and_frames(self):
        self.check(list(other_cases()) + list(stft_cases()), 1e-5)


if __name__ == "__main__":
    unittest.main()
