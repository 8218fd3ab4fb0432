# SPDX-License-Identifier: MIT
"""Trains roadnet on one GPU while roadgen makes the views on the CPU's cores.

    scons build/models/roadnet/roadgen
    python models/roadnet/train.py --roadgen build/models/roadnet/roadgen --out build/roadnet

Writes roadnet.onnx, roadnet.json (what it reached and how long it took) and roadnet.pt to --out,
first after a quarter of the time and then whenever it has measured itself. Needs torch and onnx.
"""

import argparse
import copy
import datetime
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import torch
from torch.nn import functional

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import dataset  # noqa: E402
import metrics  # noqa: E402
from export import count_macs, count_parameters, export  # noqa: E402
from net import OFFSETS, RoadNet  # noqa: E402

WARM_UP_STEPS = 300
EMA_DECAY = 0.9985
CLIP_NORM = 2.0
UNPAINTED_WEIGHT = 0.15  # of a lane boundary without a line: it can only be guessed
GAIN, BRIGHTNESS, NOISE = 0.15, 12.0, 4.0  # of the exposure jitter, luma steps of 255

# A mirrored model view: column u shows what column 511 - u did, but the middle is column 256, so the
# mirrored car also points one column's angle to the right.
MIRRORED_PLANES = [2, 3, 0, 1, 4, 5]  # frame.h: even and odd columns change places

START = time.monotonic()


def say(text, *values):
    print("[%6.1f s] %s" % (time.monotonic() - START, text % values), flush=True)


class Pool:
    """Views on the GPU, filled by a thread as shards appear; the used files are removed."""

    def __init__(self, prefix, capacity, layout, device):
        self.inputs = torch.empty(capacity, *dataset.INPUT_SHAPE, dtype=torch.uint8, device=device)
        self.truth = torch.empty(capacity, layout.size, device=device)
        self.ready = 0
        self.stopping = threading.Event()
        self._prefix, self._layout, self._capacity = prefix, layout, capacity
        self._thread = threading.Thread(target=self._fill, daemon=True)
        self._thread.start()

    def _fill(self):
        while self.ready < self._capacity and not self.stopping.is_set():
            names = dataset.shards(self._prefix)
            for name in names:
                self._take(name)
            if not names:
                time.sleep(0.2)

    def _take(self, name):
        inputs, truth = dataset.read_shard(name, self._layout.size)
        end = min(self.ready + len(inputs), self._capacity)
        count = end - self.ready
        self.inputs[self.ready:end].copy_(torch.from_numpy(inputs[:count]))
        self.truth[self.ready:end].copy_(torch.from_numpy(truth[:count]))
        torch.cuda.synchronize()
        os.remove(name + ".input.bin")
        os.remove(name + ".truth.bin")
        self.ready = end  # last: readers look only below it

    def wait_for(self, views, generator):
        while self.ready < views:
            if generator.poll() not in (None, 0) or not self._thread.is_alive():
                raise RuntimeError("the views did not come: see what roadgen printed")
            time.sleep(0.2)

    def draw(self, batch):
        at = torch.randint(self.ready, (batch,), device=self.inputs.device)
        return self.inputs[at], self.truth[at]

    def close(self):
        self.stopping.set()
        self._thread.join()


class Augment:
    """Mirrors half of a batch and varies the exposure of all of it; changes its arguments."""

    def __init__(self, layout, device):
        distance = torch.tensor(layout.distances_m, device=device)
        self.line_shift = distance / layout.description["model_focal_px"]
        returning = torch.exp(-distance / layout.description["path_return_m"])
        self.path_shift = self.line_shift * (1.0 - returning)
        self.at = layout.slices

    def _mirror(self, inputs, truth):
        at, mirrored = self.at, truth.clone()
        for side, other in (("left", "right"), ("right", "left")):
            line, probability = side + "_line", side + "_line_probability"
            mirrored[:, at[line]] = self.line_shift - truth[:, at[other + "_line"]]
            mirrored[:, at[probability]] = truth[:, at[other + "_line_probability"]]
        mirrored[:, at["path"]] = self.path_shift - truth[:, at["path"]]
        return inputs.flip(-1)[:, MIRRORED_PLANES], mirrored

    def __call__(self, inputs, truth):
        half = len(inputs) // 2
        inputs[:half], truth[:half] = self._mirror(inputs[:half], truth[:half])
        count, device = len(inputs), inputs.device
        gain = 1.0 + GAIN * (2.0 * torch.rand(count, 1, 1, 1, device=device) - 1.0)
        offset = BRIGHTNESS * (2.0 * torch.rand(count, 1, 1, 1, device=device) - 1.0)
        sigma = NOISE * torch.rand(count, 1, 1, 1, device=device) ** 3
        luma = inputs[:, :4].half()
        luma = luma * gain.half() + offset.half() + sigma.half() * torch.randn_like(luma)
        inputs[:, :4] = luma.round_().clamp_(0.0, 255.0).to(torch.uint8)
        return inputs, truth


class Loss:
    """Weighted sum of lateral errors, the lead's relative error and the probabilities' entropy."""

    def __init__(self, layout, device):
        distance = torch.tensor(layout.distances_m, device=device)
        weight = 1.0 / (0.1 + 0.004 * distance)
        self.by_distance = weight / weight.mean()
        self.at = {name: (s.start if s.stop - s.start == 1 else s)
                   for name, s in layout.slices.items()}

    def offsets(self, predicted, truth):
        total = 0.0
        for name, scale in (("left_line", 1.0), ("right_line", 1.0), ("path", 0.7)):
            part = self.at[name]
            error = functional.smooth_l1_loss(predicted[:, part], truth[:, part], beta=0.05,
                                              reduction="none")
            weight = self.by_distance[None, :] * scale
            if name != "path":
                painted = truth[:, self.at[name + "_probability"]][:, None]
                weight = weight * (UNPAINTED_WEIGHT + (1.0 - UNPAINTED_WEIGHT) * painted)
            total = total + (error * weight).mean()
        return total

    def __call__(self, raw, truth):
        offsets, log_distance, logits = raw
        present = truth[:, self.at["lead_probability"]]
        log_truth = torch.log(truth[:, self.at["lead_distance"]].clamp(min=1.0))
        relative = functional.smooth_l1_loss(log_distance[:, 0], log_truth, beta=0.05,
                                             reduction="none")
        lead = (relative * present).sum() / present.sum().clamp(min=1.0)
        first = self.at["left_line_probability"]
        entropy = functional.binary_cross_entropy_with_logits(logits, truth[:, first:first + 3])
        return 2.0 * self.offsets(offsets, truth) + 0.5 * lead + 0.15 * entropy


class Average:
    """An exponential moving average of a model's weights and statistics."""

    def __init__(self, model):
        self.model = copy.deepcopy(model).eval()
        self._pairs = [(a, b) for a, b in zip(self.model.state_dict().values(),
                                              model.state_dict().values())
                       if a.is_floating_point()]

    @torch.no_grad()
    def update(self, step):
        decay = min(EMA_DECAY, (1.0 + step) / (10.0 + step))
        torch._foreach_lerp_([a for a, _ in self._pairs], [b for _, b in self._pairs], 1.0 - decay)


@torch.no_grad()
def answer(model, inputs, device, batch=512):
    """What `model` says about views in host memory: [views, size]."""
    parts = []
    for at in range(0, len(inputs), batch):
        offsets, log_distance, logits = model.raw(torch.from_numpy(inputs[at:at + batch]).to(device))
        parts.append(torch.cat([offsets, log_distance.exp(), logits.sigmoid()], 1).cpu().numpy())
    return np.concatenate(parts)


class Trainer:
    def __init__(self, options, layout, pool, held_out, device):
        self.options, self.layout, self.pool, self.device = options, layout, pool, device
        self.held_out = held_out
        first = pool.truth[:pool.ready, :OFFSETS]
        self.model = RoadNet(first.mean(0).cpu(), first.std(0).cpu()).to(
            device, memory_format=torch.channels_last)
        self.average = Average(self.model)
        self.augment = Augment(layout, device)
        self.loss = Loss(layout, device)
        decayed = [p for p in self.model.parameters() if p.ndim > 1]
        others = [p for p in self.model.parameters() if p.ndim <= 1]
        self.raw = torch.compile(self.model.raw) if options.compile else self.model.raw
        self._warm_up()
        self.optimizer = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": options.weight_decay},
             {"params": others, "weight_decay": 0.0}], lr=options.lr, fused=True)
        self.step = 0
        self.seconds = 0.0

    def _warm_up(self):
        """Lets cuDNN choose its algorithms before the clock runs."""
        state = copy.deepcopy(self.model.state_dict())
        inputs = self.pool.inputs[:self.options.batch]
        with torch.autocast(self.device.type, torch.bfloat16):
            raw = self.raw(inputs)
        sum(part.mean() for part in raw).backward()
        self.model.zero_grad(set_to_none=True)
        self.model.load_state_dict(state)
        torch.cuda.synchronize()

    def _one_step(self, progress):
        rate = self.options.lr * min(1.0, (self.step + 1) / WARM_UP_STEPS)
        rate *= 0.5 * (1.0 + math.cos(math.pi * min(progress, 1.0)))
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        inputs, truth = self.augment(*self.pool.draw(self.options.batch))
        with torch.autocast(self.device.type, torch.bfloat16):
            raw = self.raw(inputs)
        loss = self.loss(raw, truth)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP_NORM)
        self.optimizer.step()
        self.average.update(self.step)
        self.step += 1
        return loss.detach()

    def run(self):
        """Trains for the given time; the learning rate follows the clock."""
        budget, begin = 60.0 * self.options.minutes, time.monotonic()
        next_report = 0.25 * budget
        while self.seconds < budget:
            loss = self._one_step(self.seconds / budget)
            if self.step % 100 == 0:
                value = loss.item()  # waits for the GPU
                say("step %d loss %.4f views %d", self.step, value, self.pool.ready)
            self.seconds = time.monotonic() - begin
            if next_report < self.seconds < budget:
                self.report()
                next_report += 0.25 * budget
        self.report()

    def report(self):
        """Measures the averaged model on the held-out views and writes everything."""
        result = metrics.measure(answer(self.average.model, self.held_out[0], self.device),
                                 self.held_out[1], self.layout)
        os.makedirs(self.options.out, exist_ok=True)
        path = os.path.join(self.options.out, "roadnet.onnx")
        export(self.average.model, self.layout, path)
        torch.save(self.average.model.state_dict(), path[:-len("onnx")] + "pt")
        summary = {
            "date": datetime.date.today().isoformat(),
            "device": torch.cuda.get_device_name(self.device),
            "training_views": self.pool.ready,
            "steps": self.step,
            "batch": self.options.batch,
            "training_s": round(self.seconds, 1),
            "total_s": round(time.monotonic() - START, 1),
            "parameters": count_parameters(path),
            "macs": count_macs(path),
            "held_out": {k: v if isinstance(v, int) else round(v, 4) for k, v in result.items()},
        }
        with open(path[:-len("onnx")] + "json", "w", encoding="utf-8") as f:
            json.dump(summary, f, indent=2)
            f.write("\n")
        say("%s", json.dumps(summary))


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--roadgen", required=True, help="the program that makes views")
    parser.add_argument("--out", required=True, help="folder for the results")
    parser.add_argument("--work", help="folder for views under way; by default the system's")
    parser.add_argument("--views", type=int, default=300_000, help="at most, for training")
    parser.add_argument("--first-views", type=int, default=20_000, help="wait for these, then train")
    parser.add_argument("--held-out", type=int, default=4096)
    parser.add_argument("--minutes", type=float, default=8.0, help="of training")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--weight-decay", type=float, default=0.02)
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--seed", type=int, default=0, help="first training view")
    parser.add_argument("--compile", action="store_true", help="let torch compile the network")
    return parser.parse_args()


def train(options, folder, device):
    """Makes views below `folder` and trains on them."""
    *held_out, layout = dataset.make_views(options.roadgen, os.path.join(folder, "held_out"),
                                           dataset.HELD_OUT_SEED, options.held_out)
    say("%d held-out views", options.held_out)
    prefix = os.path.join(folder, "train")
    generator = subprocess.Popen([options.roadgen, "--count", str(options.views), "--seed",
                                  str(options.seed), "--out", prefix, "--threads",
                                  str(options.threads)])
    pool = Pool(prefix, options.views, layout, device)
    try:
        pool.wait_for(options.batch, generator)
        trainer = Trainer(options, layout, pool, held_out, device)
        pool.wait_for(min(options.first_views, options.views), generator)
        say("%d views: training begins", pool.ready)
        trainer.run()
    finally:
        generator.terminate()
        generator.wait()
        pool.close()


def main():
    options = parse_options()
    if options.seed + options.views > dataset.HELD_OUT_SEED:
        sys.exit("train.py: these seeds reach into the held-out ones")
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    with tempfile.TemporaryDirectory(prefix="roadnet-", dir=options.work) as folder:
        train(options, folder, torch.device("cuda"))


if __name__ == "__main__":
    main()
