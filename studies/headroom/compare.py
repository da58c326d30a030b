#!/usr/bin/env python3
"""Compares `netflow solve --headroom` with the maximum supported demand of NetGraph (PyPI: ngraph), and both with loads
that are added up here, on NetGraph's own examples and on random networks with several circuits between two nodes.

    cargo build --release -p netflow-cli
    python3 -m venv target/ngraph && target/ngraph/bin/pip install ngraph
    target/ngraph/bin/python studies/headroom/compare.py [NETWORKS] [NETFLOW]

The question that all three answer: demands go over shortest paths by metric, shared equally among next hops of equal cost;
by which factor may all demands grow until a link is busy for half of its time? NetGraph, which fills links whole, is given half
of each capacity. It is asked about every second random network: those have one circuit between two nodes. Where there are
several, each is a next hop of its own to netflow and to what is added up here; NetGraph shares in another way.
"""

import heapq
import json
import logging
import pathlib
import random
import subprocess
import sys
import tempfile

logging.disable(logging.INFO)
NETFLOW = sys.argv[2] if len(sys.argv) > 2 else "target/release/netflow"
BUSY = 0.5
RESOLUTION = 1e-4

# From NetGraph's scenarios: who, who, Mbit/s, metric, circuits. Its square of four nodes, and the NSFNET of 1992, whose
# spans between core sites have two circuits of 45 Mbit/s (the example lists one span twice: four circuits).
SQUARE = [
    ("N1", "N2", 2, 1, 1), ("N1", "N3", 1, 1, 1), ("N1", "N4", 2, 1, 1),
    ("N2", "N3", 2, 1, 1), ("N2", "N4", 1, 1, 1), ("N3", "N4", 2, 1, 1),
]  # fmt: skip
NSFNET = [
    (a, b, 45, int(metric), circuits)
    for circuits, spans in {
        2: "NewYork Cleveland 4, Cleveland Chicago 6, Chicago PaloAlto 12, NewYork WashingtonDC 4, WashingtonDC Greensboro 5, "
        "Greensboro Atlanta 7, Atlanta Houston 10, Houston LosAngeles 14, LosAngeles PaloAlto 8, Seattle PaloAlto 9, "
        "Seattle SaltLakeCity 10, Denver Lincoln 8, Lincoln StLouis 6, StLouis Chicago 5, Cleveland StLouis 7, "
        "Chicago AnnArbor 5, AnnArbor Cleveland 5, Hartford NewYork 5, Hartford WashingtonDC 5",
        4: "SaltLakeCity Denver 9",
        1: "Princeton Ithaca 5, Princeton WashingtonDC 4, CollegePark WashingtonDC 3, CollegePark NewYork 6, Cambridge NewYork 6, "
        "Argonne Chicago 4, SanDiego LosAngeles 6, Boulder Denver 4, Pittsburgh Cleveland 4, UrbanaChampaign Chicago 4, "
        "MoffettField PaloAlto 6",
    }.items()
    for a, b, metric in (span.split() for span in spans.split(", "))
]


def pairs_of(edges):
    nodes = sorted({node for a, b, *_ in edges for node in (a, b)})
    return [(a, b) for a in nodes for b in nodes if a != b]


def random_network(seed):
    """Edges and demands; metrics are few, so that many paths cost the same. Every second has several circuits."""
    draw = random.Random(seed)
    n = draw.randint(3, 25)
    nodes = [f"n{i:02}" for i in range(n)]  # NetGraph finds nodes by how their names begin
    ends = [(nodes[draw.randrange(i)], nodes[i]) for i in range(1, n)]
    ends += [tuple(draw.sample(nodes, 2)) for _ in range(draw.randint(0, 2 * n))]
    ends = sorted({tuple(sorted(pair)) for pair in ends})
    edges = [(a, b, draw.choice([10, 25, 40, 100]), draw.randint(1, 3), draw.choice([1, 1, 1, 2, 3]) if seed % 2 else 1) for a, b in ends]
    pairs = draw.sample(pairs_of(edges), k=draw.randint(1, min(60, n * (n - 1))))
    return edges, {pair: draw.uniform(0.1, 5.0) for pair in pairs}


def by_netflow(edges, demands, directory):
    text = ['simulation = { duration = "60 s", ecmp = true }']
    for a, b, mbps, metric, circuits in edges:
        for circuit in range(1, circuits + 1):
            text += [
                "[[link]]", f'from = "{a}"', f'to = "{b}"', f'bandwidth = "{mbps} Mbit/s"', 'delay = "1 ms"',
                f"metric = {metric}", 'buffer = "1000 pkt"', "duplex = true",
            ]  # fmt: skip
            if circuit > 1:
                text.append(f'circuit = "{circuit}"')
    for (a, b), mbps in demands.items():
        text += ["[[demand]]", f'from = "{a}"', f'to = "{b}"', f'rate = "{mbps:.9f} Mbit/s"', 'kind = "poisson"']
    file = pathlib.Path(directory) / "network.toml"
    file.write_text("\n".join(text) + "\n")
    command = [NETFLOW, "solve", str(file), "--headroom", f"--max-utilization={100 * BUSY}%", "--format=json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["factor"]


def by_netgraph(edges, demands):
    from ngraph.scenario import Scenario

    nodes = sorted({node for a, b, *_ in edges for node in (a, b)})
    links = [
        {"source": a, "target": b, "capacity": BUSY * mbps, "cost": metric}
        for a, b, mbps, metric, circuits in edges
        for _ in range(circuits)
    ]
    wanted = [{"source": f"^{a}$", "target": f"^{b}$", "volume": mbps, "mode": "pairwise"} for (a, b), mbps in demands.items()]
    scenario = Scenario.from_yaml(
        json.dumps(
            {
                "network": {"nodes": {node: {} for node in nodes}, "links": links},
                "demands": {"all": wanted},
                "workflow": [{"type": "MaximumSupportedDemand", "name": "most", "demand_set": "all", "resolution": RESOLUTION, "alpha_min": 1e-6}],
            }
        )
    )
    scenario.run()
    return scenario.results.to_dict()["steps"]["most"]["data"]["alpha_star"]


def nexts_toward(around, target):
    """Of every node from which there is a way to the target, farthest first, the links that begin shortest ones; `around` has
    of every node its links as (where to, length, name)."""
    away, queue = {target: 0}, [(0, target)]
    while queue:
        length, node = heapq.heappop(queue)
        for other, more, _ in around[node]:
            if length + more < away.get(other, float("inf")):
                away[other] = length + more
                heapq.heappush(queue, (length + more, other))
    return {
        node: [(other, link) for other, length, link in around[node] if other in away and away[other] + length == away[node]]
        for node in sorted(away, key=away.get, reverse=True)
    }


def shares_of(there, nexts, target):
    """What each link carries of what is at nodes, all of which goes to the target."""
    there, carried = dict(there), {}
    for node, links in nexts.items():
        if node == target or not there.get(node):
            continue
        for other, link in links:
            share = there[node] / len(links)
            carried[link] = carried.get(link, 0.0) + share
            there[other] = there.get(other, 0.0) + share
    return carried


def by_adding_up(edges, demands):
    """The factor at which the busiest circuit has BUSY of its capacity, and the most paths that a demand has."""
    around = {}
    for a, b, mbps, metric, circuits in edges:
        for circuit in range(circuits):
            around.setdefault(a, []).append((b, metric, (a, b, circuit, mbps)))
            around.setdefault(b, []).append((a, metric, (b, a, circuit, mbps)))
    load, most = {}, 0
    for target in {b for _, b in demands}:
        nexts = nexts_toward(around, target)
        paths = {target: 1}
        for node in reversed(list(nexts)[:-1]):
            paths[node] = sum(paths[other] for other, _ in nexts[node])
        there = {a: mbps for (a, b), mbps in demands.items() if b == target}
        most = max(most, *(paths[a] for a in there))
        for link, mbps in shares_of(there, nexts, target).items():
            load[link] = load.get(link, 0.0) + mbps
    return min(BUSY * link[3] / mbps for link, mbps in load.items()), most


class Worst:
    """How far two are apart at most."""

    def __init__(self, what):
        self.what, self.networks, self.error, self.name = what, 0, 0.0, "none"

    def add(self, name, one, other):
        self.networks += 1
        error = abs(one / other - 1.0)
        if error > self.error:
            self.error, self.name = error, name

    def __str__(self):
        return f"{self.what}: {self.networks} networks, at most {self.error:.1e} apart (relatively; {self.name})"


def main():
    networks = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    cases = {
        "square_mesh": (SQUARE, dict.fromkeys(pairs_of(SQUARE), 1.0)),
        "nsfnet": (NSFNET, dict.fromkeys(pairs_of(NSFNET), 1.0)),
        **{f"random {seed}": random_network(seed) for seed in range(networks)},
    }
    beside, added = Worst("beside NetGraph, one circuit between two nodes"), Worst("beside adding up")
    many = Worst("beside adding up, with demands of more than 64 paths, of which some stand for all")
    with tempfile.TemporaryDirectory() as directory:
        for name, (edges, demands) in cases.items():
            ours, (by_hand, paths) = by_netflow(edges, demands, directory), by_adding_up(edges, demands)
            (added if paths <= 64 else many).add(name, ours, by_hand)
            is_single = all(circuits == 1 for *_, circuits in edges)
            netgraph = by_netgraph(edges, demands) if is_single or name == "nsfnet" else None
            if is_single and paths <= 64:
                beside.add(name, ours, netgraph)
            if not name.startswith("random"):
                print(f"{name}: {ours:.6f} times; NetGraph {netgraph:.6f}, added up {by_hand:.6f}", flush=True)
    print(beside, added, many, sep="\n")


if __name__ == "__main__":
    main()
