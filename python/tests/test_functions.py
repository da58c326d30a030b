"""Profiles over arrays, times of transfers, imports, scenarios in code."""

import decimal
import fractions
import gzip
import json
import pickle
import warnings

import netflow_evaluator as nf
import pytest
from conftest import ROOT
from test_run import command


def test_profiles_at_points_and_over_arrays():
    profile = nf.profile("linux-cubic")
    assert "linux-cubic" in nf.profiles() and profile.name == "linux-cubic" and profile.description
    one = profile(0.01, 0.1)
    (least, most), (shortest, longest) = profile.domain
    assert one > 0 and 0 <= least < most <= 1 and 0 < shortest < longest
    assert profile.rests_on(0.01, 0.1) == "measured"
    numpy = pytest.importorskip("numpy")
    grid = profile(numpy.array([[0.01], [0.02]]), [0.05, 0.1, 0.2])
    assert grid.shape == (2, 3) and grid[0, 1] == one
    assert grid.flags.writeable
    assert grid[1, 2] == profile(0.02, 0.2)
    assert profile(numpy.array([]), 0.1).shape == (0,)
    for loss, rtt in [(float("nan"), 0.1), (1.5, 0.1), (0.1, 0.0), (0.1, float("inf"))]:
        with pytest.raises(ValueError):
            profile(loss, rtt)
        with pytest.raises(ValueError):
            profile(numpy.array([0.01, loss]), rtt)
    with pytest.raises(ValueError):
        profile(numpy.zeros(3), numpy.zeros(2))
    with pytest.raises((ValueError, TypeError)):
        profile("much", 0.1)


def test_profile_files(tmp_path):
    file = tmp_path / "lab.toml"
    file.write_text(nf.profile("linux-cubic").to_toml())
    assert nf.profile(str(file))(0.01, 0.1) == nf.profile("linux-cubic")(0.01, 0.1)
    file.write_text("format = 1\n")
    with pytest.raises(nf.ScenarioError):
        nf.profile(str(file))
    with pytest.raises(ValueError, match="nearest name is `linux-cubic`"):
        nf.profile("linux-qubic")


def test_profiles_pickle():
    fitted = nf.fit_profile(CAPTURE, name="lab")
    for profile in [fitted, *map(nf.profile, nf.profiles())]:
        again = pickle.loads(pickle.dumps(profile))
        (least, most), (shortest, longest) = profile.domain
        for loss in (least, (least + most) / 2, most, 0.5):
            for rtt in (shortest, (shortest + longest) / 3, longest):
                assert again(loss, rtt) == profile(loss, rtt), profile
        assert again.name == profile.name


def test_latency_is_the_commands():
    told = json.loads(command("latency", "--grid", "size=3KB,10KB", "--grid", "delay=20ms,50ms", "--grid", "loss=0%,2%", "--format", "json"))
    table = nf.latency(["3 KB", 10000], ["20 ms", 0.05], [0, 0.02])
    assert [row["mean_s"] for row in table.to_rows()] == [row["mean_s"] for row in told]
    assert len(nf.latency("3 KB", "20 ms")) == 1
    with pytest.raises(ValueError, match="stack"):
        nf.latency("3 KB", "20 ms", stack="linux-7")
    with pytest.raises(ValueError, match="no effect"):
        nf.latency("3 KB", "20 ms", bandwidth="1 Mbit/s", model="short")
    with pytest.raises(ValueError, match="describes Reno"):
        nf.latency("3 KB", "20 ms", model="csa", stack="linux-6")
    bbr = "--size 2MB --delay 20ms --loss 1% --model rounds --stack linux-6 --congestion bbr --bandwidth 20Mbit/s --samples 20"
    told = json.loads(command("latency", *bbr.split(), "--format", "json"))
    rounds = dict(model="rounds", stack="linux-6", bandwidth="20 Mbit/s", samples=20)
    assert nf.latency("2 MB", "20 ms", 0.01, congestion="bbr", **rounds).to_rows()[0]["mean_s"] == told["mean_s"]
    assert nf.latency("2 MB", "20 ms", 0.01, **rounds).to_rows()[0]["mean_s"] != told["mean_s"]
    for wrong in (dict(congestion="bbr", model="short"), dict(congestion="brb", **rounds), dict(rounds, congestion="bbr", stack="ns-2.35")):
        with pytest.raises(ValueError, match="congestion"):
            nf.latency("3 KB", "20 ms", **wrong)
    for bad in (dict(size=0), dict(delay=-1), dict(loss=2), dict(loss=float("nan")), dict(mss=0), dict(mss=65_536)):
        with pytest.raises(ValueError):
            nf.latency(**{"size": "3 KB", "delay": "20 ms", **bad})


def test_an_import_tells_what_it_assumes(tmp_path):
    file = tmp_path / "lab.csv"
    file.write_text("from,to,bandwidth\nA,B,10 Mbit/s\nB,C,OC-3\n")
    with pytest.warns(UserWarning, match="OC-3"):
        scenario = nf.import_topology(file, delay="2 ms")
    assert scenario.links == ["A->B", "B->A", "B->C", "C->B"]
    assert scenario.run().is_complete
    matrix = tmp_path / "matrix.csv"
    matrix.write_text("from,to,rate_mbps\nA,C,1\n")
    with pytest.warns(UserWarning, match="kind `constant`"):
        scenario = nf.import_topology(file, matrix)
    assert 'kind = "constant"' in scenario.text
    with pytest.warns(UserWarning, match="kind `poisson`"):
        scenario = nf.import_topology(file, matrix, kind="poisson", ecmp=True)
    assert "ecmp     = true" in scenario.text
    with pytest.raises(ValueError, match="kind"):
        nf.import_topology(file, matrix, kind="poison")
    file.write_text("from,to,bandwidth\nA,B,10 Mbq\n")
    with pytest.raises(nf.ScenarioError) as caught:
        nf.import_topology(file)
    assert caught.value.problems[0].line == 2


@pytest.mark.filterwarnings("ignore:assumed")
def test_edges_between_the_same_nodes_are_circuits():
    networkx = pytest.importorskip("networkx")
    graph = networkx.MultiGraph()
    for _ in range(2):
        graph.add_edge("A", "B", bandwidth="10 Gbit/s", delay="5 ms")
    scenario = nf.from_networkx(graph, demands={("A", "B"): "8 Gbit/s"})
    assert scenario.links == ["A->B", "B->A", "A->B#2", "B->A#2"]
    # Each has half of the demand, and the other all of it if it fails.
    steady = scenario.solve()
    busy = dict(zip(steady.links["link"], steady.links["utilization"]))
    assert busy["A->B"] == pytest.approx(0.4, rel=0.02)
    assert busy["A->B"] == pytest.approx(busy["A->B#2"])
    scenario.set("link.A<->B#2.bandwidth", "20 Gbit/s")
    steady = scenario.solve()
    busy = dict(zip(steady.links["link"], steady.links["utilization"]))
    assert busy["A->B"] == pytest.approx(2 * busy["A->B#2"])


@pytest.mark.filterwarnings("ignore:assumed", "error:assumed. the file has no traffic")
def test_a_graph_of_networkx():
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_edge("A", "B", bandwidth="10 Mbit/s", delay="5 ms")
    graph.add_edge("B", 3, bandwidth="10 Mbit/s", delay="5 ms", colour=object())
    scenario = nf.from_networkx(graph, demands={("A", 3): "2 Mbit/s", (3, "A"): 1e6})
    assert scenario.connections == ["A->3", "3->A"]
    assert "example" not in scenario.text
    steady = {row["link"]: row for row in scenario.solve().links.to_rows()}
    assert steady["A->B"]["utilization"] == pytest.approx(0.2, rel=0.1)
    with pytest.warns(UserWarning, match="one example connection"):
        assert nf.from_networkx(graph).connections != []
    with pytest.raises(ValueError, match="not a node"):
        nf.from_networkx(graph, demands={("A", "D"): 1})
    graph.add_edge("3", "A", bandwidth="1 Mbit/s")
    with pytest.raises(ValueError, match="same name"):
        nf.from_networkx(graph)


def test_numbers_of_a_graph_are_finite():
    networkx = pytest.importorskip("networkx")
    graph = networkx.path_graph(3)
    graph.edges[1, 2]["bandwidth"] = float("nan")
    with pytest.raises(ValueError, match=r"`bandwidth` of edge \(1, 2\) is nan: it must be finite"):
        nf.from_networkx(graph)
    graph.edges[1, 2]["bandwidth"] = "1 Mbit/s"
    graph.nodes[1]["lat"] = float("inf")
    with pytest.raises(ValueError, match="`lat` of node 1 is inf"):
        nf.from_networkx(graph)


@pytest.mark.filterwarnings("ignore:assumed")
@pytest.mark.parametrize("attribute", ["label", "name", "id"])
def test_demands_are_between_nodes_of_the_graph(attribute):
    networkx = pytest.importorskip("networkx")
    graph = networkx.path_graph(5)
    networkx.set_node_attributes(graph, {node: str(node + 1) for node in graph}, attribute)
    networkx.set_edge_attributes(graph, "100 Mbit/s", "bandwidth")
    scenario = nf.from_networkx(graph, demands={(1, 4): "2 Mbit/s"})
    shift = 0 if attribute == "id" else 1
    assert scenario.connections == [f"{1 + shift}->{4 + shift}"]
    busy = {row["link"] for row in scenario.solve().links.to_rows() if row["utilization"] > 0.01}
    assert busy == {f"{node + shift}->{node + shift + 1}" for node in (1, 2, 3)}
    networkx.set_node_attributes(graph, {node: f"Town {node % 2}" for node in graph}, attribute)
    assert len(nf.from_networkx(graph, demands={(0, 4): "2 Mbit/s", (3, 1): 1e6}).connections) == 2


def test_a_scenario_made_in_code():
    builder = nf.Builder(duration="5 s", model="fluid")
    builder.node("A", label='the "first"\\')
    builder.link("A", "B", bandwidth="2 Mbit/s", delay="10 ms", queue={"discipline": "drop-tail"})
    builder.connection("A", "B", name="c", source={"profile": "ns-reno"}, max_window="8 pkt")
    scenario = builder.scenario()
    assert scenario.duration_s == 5 and scenario.connections == ["c"]
    assert "max-window" in builder.text
    builder.link("B", "C", bandwith="2 Mbit/s")
    with pytest.raises(nf.ScenarioError, match="bandwith"):
        builder.scenario()
    with pytest.raises(ValueError):
        nf.Builder().link("A", "B", loss=float("nan")).text
    with pytest.raises(TypeError, match="`link.0.loss`"):
        nf.Builder().link("A", "B", loss=object()).text


def test_every_table_can_be_made_in_code(tmp_path):
    (tmp_path / "links.csv").write_text("from,to,bandwidth\nA,B,1 Mbit/s\n")
    builder = nf.Builder(duration="1 s", hour=12).include(links="links.csv").day("office", [0.25, 0.5, 1, 0.75])
    builder.demand("A", "B", "0.5 Mbit/s", kind="poisson", day="office")
    scenario = builder.scenario(directory=str(tmp_path))
    assert scenario.links == ["A->B", "B->A"] and scenario.solve().goodput_bps == pytest.approx(5e5, rel=0.01)
    schema = json.loads(command("schema"))
    tables = set(schema["properties"]) - {"simulation"}
    assert all(callable(getattr(nf.Builder, name)) for name in tables)


def test_numbers_in_code_are_in_base_units():
    def build(bandwidth, delay, size, start, least, window, target):
        builder = nf.Builder(duration="5 s", model="packet")
        builder.link("A", "B", bandwidth=bandwidth, delay=delay, queue={"discipline": "codel", "target": target})
        builder.connection("A", "B", source={"ns2-tcp": "reno", "initial_window": window}, size=size, start=start)
        builder.workload(client="A", server="B", application="web", interarrival=least)
        return builder.text

    texts = build("1500000 bit/s", "0.005 s", "30000 B", "0.5 s", "2 s", "4 pkt", "0.01 s")
    assert build(1_500_000, 0.005, 30_000, 0.5, 2, 4, 0.01) == texts
    assert 'rate = "1000000.0 bit/s"' in nf.Builder().demand("A", "B", 1e6).text
    for wrong in (
        lambda builder: builder.link("A", "B", bandwidth=1e6, buffer=50),
        lambda builder: builder.connection("A", "B", source={"poisson": 100}),
        lambda builder: builder.link("A", "B", bandwidth=1e6, queue={"discipline": "red", "min": 10, "max": "40 pkt"}),
    ):
        with pytest.raises(ValueError, match="a number needs a unit: write a text such as"):
            wrong(nf.Builder()).text


@pytest.mark.filterwarnings("ignore:assumed")
def test_numbers_of_numpy_are_numbers():
    numpy = pytest.importorskip("numpy")
    networkx = pytest.importorskip("networkx")
    for bandwidth in (numpy.int64(100_000_000), numpy.float32(1e8), numpy.float64(1e8), fractions.Fraction(10**8), decimal.Decimal("1e8")):
        graph = networkx.Graph()
        graph.add_edge("A", "B", bandwidth=bandwidth)
        steady = nf.from_networkx(graph, demands={("A", "B"): numpy.int64(50_000_000)}).solve()
        assert steady.links["utilization"][0] == pytest.approx(0.5, rel=0.02)
    builder = nf.Builder(duration="1 s")
    builder.link("A", "B", bandwidth="1 Mbit/s", loss=numpy.float64(0.01), metric=numpy.float32(2))
    builder.connection("A", "B", source={"profile": "ns-reno"}, count=numpy.int64(3))
    assert "loss = 0.01\nmetric = 2.0\n" in builder.text and "count = 3\n" in builder.text
    assert builder.scenario().connections
    assert nf.latency(numpy.int64(10_000), numpy.float32(0.5)).to_rows() == nf.latency(10_000, 0.5).to_rows()
    profile = nf.profile("ns-reno")
    assert isinstance(profile(numpy.float64(0.01), numpy.float32(0.5)), float)


def test_the_version_is_that_of_the_library():
    cargo = (ROOT / "Cargo.toml").read_text()
    assert f'version = "{nf.__version__}"' in cargo


CAPTURE = ROOT / "tests" / "reference" / "linux" / "reno_0.1_60_0.pcap.gz"


def test_a_trace_is_what_the_command_says():
    trace = nf.trace(CAPTURE)
    samples = command("trace", "samples", CAPTURE).splitlines()
    assert trace.samples.column_names == samples[0].split(",")
    assert len(trace.samples) == len(samples) - 1 > 10
    for row, line in list(zip(trace.samples.to_rows(), samples[1:]))[:20]:
        told = dict(zip(samples[0].split(","), line.split(",")))
        assert row["rtt_s"] == pytest.approx(float(told["rtt_s"]), rel=1e-6)
        assert row["throughput_pps"] == pytest.approx(float(told["throughput_pps"]), rel=1e-6)
    connections = command("trace", "connections", CAPTURE, "--format", "csv").splitlines()
    assert len(trace.connections) == len(connections) - 1
    assert trace.connections.column_names == connections[0].split(",")
    assert len(trace.links) == 0 and "pcap" in trace.format
    with pytest.raises(ValueError):
        nf.trace(ROOT / "README.md")
    with pytest.raises(OSError):
        nf.trace("nowhere.pcap")
    with pytest.raises(ValueError, match="`k`"):
        nf.trace(CAPTURE, k=0)


def test_what_is_suspicious_about_a_trace_is_told(tmp_path):
    whole = gzip.decompress(CAPTURE.read_bytes())
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(whole[: len(whole) // 2 + 7])
    with pytest.warns(UserWarning, match="malformed record"):
        nf.trace(cut)
    with pytest.warns(UserWarning, match="malformed record"):
        nf.fit_profile(cut)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nf.trace(CAPTURE)


def test_a_fit_is_that_of_the_command(tmp_path):
    command("profile", "fit", CAPTURE, "-o", tmp_path / "lab.toml", "--name", "lab")
    fitted = nf.fit_profile(CAPTURE, name="lab")
    # The command's file begins with who wrote it.
    mark, profile = (tmp_path / "lab.toml").read_text().split("\n", 1)
    assert mark == "# A profile, written by netflow."
    assert fitted.to_toml() == profile
    assert fitted(0.1, 0.06) == nf.profile(str(tmp_path / "lab.toml"))(0.1, 0.06)
    with pytest.raises(ValueError, match="method"):
        nf.fit_profile(CAPTURE, method="guess")
    with pytest.raises(ValueError, match="no samples with `k` = 5000 packets: every flow is shorter"):
        nf.fit_profile(CAPTURE, k=5000)
    with pytest.raises(ValueError):
        nf.fit_profile()


@pytest.mark.parametrize(
    "options",
    [
        {"conditioner": "trtcm", "committed_burst": "3 KB", "peak_rate": "2 Mbit/s", "peak_burst": "5 KB"},
        {"conditioner": "srtcm", "committed_burst": 3000, "excess_burst": 5000},
        {"conditioner": "standard", "peak_rate": 2e6, "averaging": "500 ms", "seed": 3},
    ],
    ids=lambda options: options["conditioner"],
)
def test_colours_are_those_of_the_command(tmp_path, options):
    times = [i * 0.003 for i in range(2000)]
    sizes = [200 + i * 37 % 1300 for i in range(2000)]
    file = tmp_path / "packets.csv"
    file.write_text("time_s,bytes\n" + "".join(f"{t!r},{b}\n" for t, b in zip(times, sizes)))
    arguments = [f"--{key.replace('_', '-')}={value} bit/s" if key.endswith("rate") and not isinstance(value, str) else f"--{key.replace('_', '-')}={value}{' B' if key.endswith('burst') and not isinstance(value, str) else ''}" for key, value in options.items()]
    told = command("mark", file, "--committed-rate=1 Mbit/s", "--format", "csv", *arguments).splitlines()[1:]
    found = nf.mark(times, sizes, committed_rate="1 Mbit/s", **options)
    assert found == [int(line.rsplit(",")[-1]) for line in told]
    assert set(found) == {0, 1, 2}
    numpy = pytest.importorskip("numpy")
    array = nf.mark(numpy.array(times), numpy.array(sizes), committed_rate="1 Mbit/s", **options)
    assert array.tolist() == found and array.flags.writeable


def test_what_cannot_be_marked():
    mark = lambda times=(0.0, 1.0), sizes=(100, 100), **more: nf.mark(times, sizes, **{"committed_rate": "1 Mbit/s", "peak_rate": "2 Mbit/s", **more})
    assert mark() == [0, 0]
    with pytest.raises(ValueError, match="the same length"):
        mark(sizes=[100])
    with pytest.raises(ValueError, match="packet 1: its time"):
        mark(times=[1, 0])
    with pytest.raises(ValueError, match="packet 0: its size"):
        mark(sizes=[0.5, 1])
    with pytest.raises(ValueError, match="precedence must be 0, 1 or 2"):
        mark(precedences=[0, 3])
    with pytest.raises(ValueError, match="needs `peak_rate`"):
        mark(peak_rate=None)
    with pytest.raises(ValueError, match="`rtt` has no effect"):
        mark(rtt="50 ms")
    with pytest.raises(ValueError, match="conditioner"):
        mark(conditioner="magic")
    with pytest.raises(ValueError):
        mark(times=[float("nan"), 1])
