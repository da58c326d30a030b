#!/usr/bin/env python3
"""Imports every topology that `fetch` has brought, and compares the networks with what other programs
see in the same files: NetworkX's nodes and edges, the tags and objects that stand in the text, and
distances by a formula that netflow does not use.

    cargo build --release -p netflow-cli
    studies/topologies/fetch
    studies/topologies/compare.py [DIRECTORY] [NETFLOW]
"""

import collections
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

directory = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "target/topologies").resolve()
netflow = sys.argv[2] if len(sys.argv) > 2 else "target/release/netflow"
sys.path.insert(0, str(directory / "python"))
import networkx  # noqa: E402

RADIUS_KM = 6371.0088
LIGHT_KM_PER_S = 299792.458


def run(*arguments):
    return subprocess.run([netflow, *map(str, arguments)], capture_output=True, text=True)


def kilometres(a, b):
    """The angle between two vectors from the centre of the earth (netflow has the haversine formula)."""

    def vector(longitude, latitude):
        longitude, latitude = math.radians(longitude), math.radians(latitude)
        horizontal = math.cos(latitude)
        return horizontal * math.cos(longitude), horizontal * math.sin(longitude), math.sin(latitude)

    (ax, ay, az), (bx, by, bz) = vector(*a), vector(*b)
    cross = math.hypot(ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)
    return RADIUS_KM * math.atan2(cross, ax * bx + ay * by + az * bz)


def seen_by_networkx(path):
    """The graph, and the positions of its nodes."""
    if path.suffix == ".json":
        data = json.loads(path.read_text())
        graph = networkx.node_link_graph(data, edges="edges")
        place = {node: it.get("pos") for node, it in graph.nodes(data=True)}
    else:
        graph = networkx.read_graphml(path, force_multigraph=True)
        place = {
            node: (it["Longitude"], it["Latitude"]) if "Longitude" in it else None
            for node, it in graph.nodes(data=True)
        }
    return graph, place


def in_the_text(path):
    """Nodes and edges that stand in the text, without any library for graphs."""
    text = path.read_text()
    if path.suffix == ".json":
        data = json.loads(text)
        return len(data["nodes"]), len(data.get("edges", data.get("links")))
    return len(re.findall(r"<node\b", text)), len(re.findall(r"<edge\b", text))


def links_of(scenario):
    """Links of a scenario file: (from, to, delay in s)."""
    return [(link["from"], link["to"], link["delay"]) for link in scenario["link"]]


def seconds(text):
    number, unit = text.split()
    return float(number) * {"s": 1, "ms": 1e-3, "us": 1e-6}[unit]


def compare(path, work, totals):
    """What is wrong with the import of a file; nothing if nothing is."""
    wrong = []
    scenario_file = work / "scenario.toml"
    imported = run("import", path, "-o", scenario_file, "--force")
    totals["files"] += 1
    if imported.returncode != 0:
        totals["refused"] += 1
        return [f"refused: {imported.stderr.strip()}"]
    totals["read"] += 1
    totals["assumptions"] += imported.stderr.count("assumed: ")
    checked = run("check", scenario_file)
    if checked.returncode != 0:
        wrong.append(f"check: {checked.stderr.strip()}")
    scenario = tomllib.loads(scenario_file.read_text())
    graph, place = seen_by_networkx(path)
    text_nodes, text_edges = in_the_text(path)
    if (text_nodes, text_edges) != (graph.number_of_nodes(), graph.number_of_edges()):
        wrong.append("NetworkX does not see what stands in the text")
    loops = networkx.number_of_selfloops(graph)
    alone = sum(1 for node, degree in graph.degree() if all(n == node for n in graph.adj[node]))
    links = links_of(scenario)
    nodes = {end for link in links for end in link[:2]}
    totals["nodes"] += text_nodes
    totals["edges"] += text_edges
    totals["loops"] += loops
    totals["alone"] += alone
    totals["links"] += len(links)
    pairs = collections.Counter(frozenset(link[:2]) for link in links)
    totals["parallel"] += sum(count - 1 for count in pairs.values())
    totals["multigraphs"] += any(count > 1 for count in pairs.values())
    if len(links) != text_edges - loops:
        wrong.append(f"{text_edges} edges, {loops} of them loops, but {len(links)} links")
    if len(nodes) != text_nodes - alone:
        wrong.append(f"{text_nodes} nodes, {alone} without links, but {len(nodes)} in links")
    # Edge by edge, in the order of the file: the delay is that of the distance.
    edges = [(a, b) for a, b in edges_in_order(path) if a != b]
    called, meant = {}, {}
    for ends, link in zip(edges, links):
        for end, name in zip(ends, link):
            if called.setdefault(end, name) != name or meant.setdefault(name, end) != end:
                wrong.append(f"the ends of {ends} are not those of {link[:2]}")
    known = [it for it in place.values() if it is not None]
    if any(abs(x) > 180 or abs(y) > 90 for x, y in known):
        edges = []  # places on a plane
    for (a, b), (_, _, delay) in zip(edges, links):
        if place.get(a) is None or place.get(b) is None:
            continue
        expected = max(kilometres(place[a], place[b]) * 1.5 / (LIGHT_KM_PER_S * 2 / 3), 1e-5)
        error = abs(seconds(delay) - expected)
        totals["delays"] += 1
        totals["worst delay"] = max(totals["worst delay"], error)
        if error > 1e-6:
            totals["delays off"] += 1
    # There and back.
    back = work / "back.graphml"
    exported = run("export", scenario_file, "--to", "graphml", "-o", back)
    if exported.returncode != 0:
        wrong.append(f"export: {exported.stderr.strip()}")
        return wrong
    names = collections.Counter(
        frozenset(link[:2]) for link in links
    )
    again = networkx.read_graphml(back, force_multigraph=True)
    of = {node: it["name"] for node, it in again.nodes(data=True)}
    seen = collections.Counter(frozenset((of[a], of[b])) for a, b in again.edges())
    if again.number_of_nodes() != len(nodes) or seen != names:
        wrong.append("the export is another graph")
    second_file = work / "second.toml"
    run("import", back, "-o", second_file, "--force")
    second = tomllib.loads(second_file.read_text())
    bare = [{k: v for k, v in link.items() if k != "buffer"} for link in second["link"]]
    if bare != scenario["link"]:
        wrong.append("the links of the export's import are others")
    else:
        totals["there and back"] += 1
    return wrong


def edges_in_order(path):
    if path.suffix == ".json":
        data = json.loads(path.read_text())
        return [(edge["source"], edge["target"]) for edge in data["edges"]]
    text = path.read_text()
    return re.findall(r'<edge (?:id="[^"]*" )?source="([^"]*)" target="([^"]*)"', text)


def labels(paths, work):
    """Bandwidths by labels alone, beside LinkSpeedRaw, which the Zoo's own tools have made of them."""
    same, other, silent, in_bytes, examples = 0, 0, 0, 0, collections.Counter()
    for path in paths:
        graph = networkx.read_graphml(path, force_multigraph=True)
        told = [it for a, b, it in graph.edges(data=True) if a != b]
        if not any("LinkSpeedRaw" in it for it in told):
            continue
        text = path.read_text()
        for name in ("LinkSpeedRaw", "LinkSpeed", "LinkSpeedUnits"):
            text = text.replace(f'attr.name="{name}"', 'attr.name="unused"')
        stripped = work / "stripped.graphml"
        stripped.write_text(text)
        scenario_file = work / "stripped.toml"
        run("import", stripped, "-o", scenario_file, "--force", "--bandwidth", "7 bit/s")
        scenario = tomllib.loads(scenario_file.read_text())
        rates = [link["bandwidth"] for link in scenario["link"]]
        key = {graph_key: it for graph_key, it in edge_data_in_order(path)}
        for index, rate in enumerate(rates):
            it = key[index]
            if "LinkSpeedRaw" not in it:
                continue
            number, unit = rate.split()
            scale = {"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}[unit]
            raw = float(it["LinkSpeedRaw"])
            if rate == "7 bit/s":
                silent += 1
                examples["silent", it.get("LinkLabel")] += 1
            elif abs(float(number) * scale / raw - 1) < 1e-9:
                same += 1
                # A capital B and a second: bytes by the letter.
                in_bytes += re.search(r"[KMG]B(/s|ps)", it.get("LinkLabel") or "") is not None
            else:
                other += 1
                examples[rate, it.get("LinkLabel"), raw] += 1
    return same, other, silent, in_bytes, examples


def as_gml(paths, work):
    """How many networks are the same if NetworkX writes them as GML: bandwidths and delays of all links."""
    same = 0
    for path in paths:
        graph = networkx.read_graphml(path, force_multigraph=True)
        gml = work / "network.gml"
        networkx.write_gml(graph, gml, stringizer=str)
        first, second = work / "first.toml", work / "second.toml"
        run("import", path, "-o", first, "--force")
        if run("import", gml, "-o", second, "--force").returncode != 0:
            continue

        def links(file):
            links = tomllib.loads(file.read_text())["link"]
            return sorted((link["bandwidth"], link["delay"]) for link in links)

        same += links(first) == links(second)
    return same


def edge_data_in_order(path):
    """What is said of each edge, in the order of the file, loops apart."""
    import xml.etree.ElementTree as tree

    space = "{http://graphml.graphdrawing.org/xmlns}"
    root = tree.parse(path).getroot()
    names = {key.get("id"): key.get("attr.name") for key in root.iter(f"{space}key")}
    edges = [it for it in root.iter(f"{space}edge") if it.get("source") != it.get("target")]
    return [
        (i, {names[data.get("key")]: data.text for data in edge.iter(f"{space}data")})
        for i, edge in enumerate(edges)
    ]


def main():
    zoo = sorted((directory / "zoo").glob("*.graphml"))
    data = directory / "python/topohub/data"
    groups = {"Topology Zoo (bgpsim 0.20)": zoo}
    for group in ("sndlib", "topozoo", "caida", "backbone", "gabriel"):
        groups[f"topohub {group}"] = sorted((data / group).rglob("*.json"))
    failed = False
    columns = [
        "files", "read", "refused", "nodes", "edges", "loops", "alone", "links", "parallel",
        "multigraphs", "there and back", "assumptions", "delays", "delays off",
    ]
    print(f"| | {' | '.join(columns)} | worst delay |")
    print("|---|" + "---:|" * (len(columns) + 1))
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for name, paths in groups.items():
            totals = collections.defaultdict(float)
            for path in paths:
                for reason in compare(path, work, totals):
                    failed = True
                    print(f"{path.name}: {reason}", file=sys.stderr)
            row = " | ".join(f"{int(totals[column])}" for column in columns)
            print(f"| {name} | {row} | {totals['worst delay'] * 1e6:.2f} us |", flush=True)
        print(f"\nwritten as GML by NetworkX: {as_gml(zoo, work)} of {len(zoo)} are the same networks")
        same, other, silent, in_bytes, examples = labels(zoo, work)
        print(f"\nlabels of edges with LinkSpeedRaw: {same} the same ({in_bytes} of them say bytes), {other} others, {silent} silent")
        for example, count in examples.most_common():
            print(f"  {count} {example}")
    return failed


sys.exit(main())
