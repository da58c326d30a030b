#!/usr/bin/env python3
"""Compares what links carry in `netflow solve` with loads that are added up here, on the Internet Topology Zoo.

    cargo build --release -p netflow-cli
    studies/topologies/fetch
    studies/headroom/loads.py [DIRECTORY] [NETFLOW]

Every network gets up to 40 demands between random nodes, so small that nothing is lost, over paths of least delay; of equal
ones each next hop, circuits included, has the same.
"""

import collections
import decimal
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import tomllib

from compare import nexts_toward, shares_of

DIRECTORY = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "target/topologies/zoo")
NETFLOW = sys.argv[2] if len(sys.argv) > 2 else "target/release/netflow"
RATE_BPS = 10.0
PICOSECONDS = {"s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3}


def netflow(*arguments):
    return subprocess.run([NETFLOW, *map(str, arguments)], capture_output=True, text=True, check=True).stdout


def around(links):
    """Of every node its links as (where to, length, name)."""
    found = collections.defaultdict(list)
    for link in links:
        number, unit = link["delay"].split()
        length = int(decimal.Decimal(number) * PICOSECONDS[unit])
        circuit = f"#{link['circuit']}" if "circuit" in link else ""
        ends = [(link["from"], link["to"])]
        if link.get("duplex", True):
            ends.append((link["to"], link["from"]))
        for a, b in ends:
            found[a].append((b, length, f"{a}->{b}{circuit}"))
    return found


def compare(file, scenario):
    """How many demands there are, and how far a link is off at most, as a part of a demand."""
    netflow("import", file, "-o", scenario, "--force")
    # The example that an import ends with goes.
    text = scenario.read_text().split("[[connection]]")[0]
    links = around(tomllib.loads(text)["link"])
    draw = random.Random(file.name)
    nodes = sorted(links)
    pairs = {tuple(draw.sample(nodes, 2)) for _ in range(40)}
    expected = collections.Counter()
    demands = 0
    for a, b in sorted(pairs):
        nexts = nexts_toward(links, b)
        if a not in nexts:
            continue
        demands += 1
        text += f'\n[[demand]]\nfrom = {json.dumps(a)}\nto = {json.dumps(b)}\nrate = "{RATE_BPS} bit/s"\nkind = "poisson"\n'
        expected.update(shares_of({a: 1.0}, nexts, b))
    scenario.write_text(text)
    told = json.loads(netflow("solve", scenario, "--set", "simulation.ecmp=true", "--format", "json"))["links"]
    told = {link["link"]: link["offered_bps"] / RATE_BPS for link in told}
    return demands, max(abs(told.get(link, 0.0) - expected[link]) for link in {*told, *expected})


def main():
    networks, all_demands, worst = 0, 0, (0.0, "none")
    with tempfile.TemporaryDirectory() as place:
        for file in sorted(DIRECTORY.glob("*.graphml")):
            demands, error = compare(file, pathlib.Path(place) / "scenario.toml")
            networks, all_demands = networks + 1, all_demands + demands
            worst = max(worst, (error, file.stem))
    error, name = worst
    print(f"{networks} networks, {all_demands} demands: every link within {error:.1e} of a demand ({name})")


if __name__ == "__main__":
    main()
