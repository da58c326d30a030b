#!/usr/bin/env python3
"""Draws buffer-sizing.svg from the tables of the sweep in buffer-sizing.md (needs matplotlib):

    buffer-sizing.py SWEEP [buffer-sizing.svg]
"""

import collections
import csv
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

matplotlib.rcParams.update({"svg.hashsalt": "netflow", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
BDP_PKTS = 246
COLOURS = ["#0072b2", "#d55e00", "#008a66", "#a8508a"]

# By senders and buffer: utilization and loss of each seed.
cases = collections.defaultdict(list)
for path in sorted(pathlib.Path(sys.argv[1]).glob("links/*.csv")):
    with path.open() as table:
        for row in csv.DictReader(table):
            if row["link"] == "R1->R2":
                senders = 4 * int(float(row["connection.*.count"]))
                buffer = float(row["link.R1->R2.buffer"].split()[0])
                values = [float(row[name]) for name in ("utilization", "loss_probability")]
                cases[senders, buffer].append(values)

figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.1), layout="constrained")
for colour, senders in zip(COLOURS, sorted({senders for senders, _ in cases})):
    buffers = sorted(buffer for n, buffer in cases if n == senders)
    for axis, column in ((left, 0), (right, 1)):
        seeds = [[100 * run[column] for run in cases[senders, buffer]] for buffer in buffers]
        means = [sum(values) / len(values) for values in seeds]
        axis.fill_between(buffers, [min(v) for v in seeds], [max(v) for v in seeds], color=colour, alpha=0.25, lw=0)
        axis.plot(buffers, means, color=colour, marker="o", ms=3, lw=1.2, label=f"{senders} senders")
    left.axvline(BDP_PKTS / senders**0.5, color=colour, lw=0.8, ls=":")
for axis, title in ((left, "utilization, %"), (right, "loss, %")):
    axis.set_xscale("log", base=2)
    axis.set_xticks([4, 16, 64, 256], ["4", "16", "64", "256"])
    axis.set_xlabel("buffer, packets")
    axis.set_title(title, fontsize=9, loc="left")
    axis.grid(alpha=0.3)
right.set_yscale("log")
left.legend(frameon=False, loc="lower right")
figure.savefig(sys.argv[2] if len(sys.argv) > 2 else "buffer-sizing.svg", metadata={"Date": None})
