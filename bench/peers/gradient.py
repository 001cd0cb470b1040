#!/usr/bin/python3
"""bench/peers/gradient.py - numbers as data parallelism moves them

gradient.py FILE: writes the gradient of a small network with rectifiers, which
has learned a random function for a while, as f32; for what codes its payload.
Some of it is zero, as gradients behind rectifiers are.
"""

import sys

import torch
from torch import nn

N_STEPS = 60
N_SAMPLES = 128
WIDTHS = (512, 1024, 1024, 10)


def network(widths):
    layers = []
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    target = network((WIDTHS[0], 256, WIDTHS[-1]))
    learner = network(WIDTHS)
    optimizer = torch.optim.AdamW(learner.parameters(), lr=1e-3)
    for _ in range(N_STEPS + 1):
        optimizer.step()
        samples = torch.randn(N_SAMPLES, WIDTHS[0])
        with torch.no_grad():
            classes = target(samples).argmax(1)
        optimizer.zero_grad()
        nn.functional.cross_entropy(learner(samples), classes).backward()
    gradients = [p.grad.reshape(-1) for p in learner.parameters()]
    torch.cat(gradients).numpy().tofile(sys.argv[1])


main()
