"""Networks moved step by step."""

import copy
import random

import netflow_evaluator as nf
import pytest
from conftest import BOTTLENECK, TRIANGLE


@pytest.mark.parametrize("model", ["fluid", "packets"])
def test_moved_bit_by_bit_it_comes_to_the_same(model):
    scenario = nf.Scenario.from_toml(BOTTLENECK.replace('profile = "ns-reno"', 'window = "reno"'), set={"simulation.model": "packet"})
    if model == "fluid":
        scenario = nf.Scenario.from_toml(BOTTLENECK)
    run = scenario.run(interval="1 s")
    simulation = scenario.simulation()
    times, queues = [], []
    while not simulation.is_done:
        times.append(simulation.advance("1 s"))
        row = simulation.links[0]
        queues.append(row["queue_pkts"])
        assert row["time_s"] == pytest.approx(simulation.time_s)
    assert times[-1] == simulation.duration_s == 10
    series = [row["queue_pkts"] for row in run.links.to_rows() if row["link"] == "A->B"]
    assert queues == pytest.approx(series, rel=1e-6 if model == "fluid" else 1e-12)


def test_reads_between_steps(bottleneck):
    simulation = bottleneck.simulation()
    assert simulation.time_s == 0 and simulation.links[0]["queue_pkts"] == 0
    assert simulation.links[0]["sojourn_time_s"] is None
    assert simulation.connections[0]["rtt_s"] is simulation.connections[0]["delay_s"] is None
    simulation.step()
    assert 0 < simulation.time_s < 10 and simulation.steps == 1
    assert simulation.run_until(5) == pytest.approx(5, abs=0.1)
    assert 0 < simulation.queue_pkts("A->B") <= 20
    assert 0 < simulation.blocking("A->B") < 1
    assert 0 < simulation.utilization("A->B") <= 1
    assert simulation.rate_pps("c") > 100
    sent, delivered, lost = simulation.totals
    assert sent > delivered > 0 and lost > 0
    with pytest.raises(ValueError, match="is in the past"):
        simulation.run_until(1)
    with pytest.raises(ValueError, match="nearest name is `A->B`"):
        simulation.queue_pkts("A-B")
    with pytest.raises(ValueError, match="connection"):
        simulation.rate_pps("d")


def test_a_copy_goes_its_own_way(bottleneck):
    simulation = bottleneck.simulation()
    simulation.run_until(3)
    others = [simulation.copy(), copy.copy(simulation), copy.deepcopy(simulation)]
    for other in others:
        other.run_until(10)
        assert simulation.time_s < other.time_s
    simulation.run_until(10)
    assert all(simulation.totals == other.totals for other in others)


def test_beyond_the_end_is_the_end(bottleneck):
    simulation = bottleneck.simulation()
    assert simulation.advance(1000) == 10 and simulation.is_done
    assert simulation.advance(1) == 10


@pytest.mark.parametrize("model", ["fluid", "packets"])
def test_a_bandwidth_that_is_set_is_that_of_an_event(model):
    source = {"fluid": 'profile = "ns-reno"', "packets": 'window = "reno"'}[model]
    text = BOTTLENECK.replace('profile = "ns-reno"', source)
    # Numbers that ties hang on follow from what happens to links: of packets just sums are alike.
    event = '\nevent = [{ link = "A->B", at = "5 s", set = { bandwidth = "1 Mbit/s" } }]\n'
    options = {"set": {"simulation.model": model}}
    by_event = nf.Scenario.from_toml(text + event, **options).simulation()
    by_hand = nf.Scenario.from_toml(text, **options).simulation(bandwidths={"A->B": ["1 Mbit/s"]})
    for simulation in (by_event, by_hand):
        simulation.run_until(5)
    by_hand.set_bandwidth("A->B", 1e6)
    for simulation in (by_event, by_hand):
        simulation.run_until(10)
    assert by_hand.totals == pytest.approx(by_event.totals, rel=1e-9 if model == "fluid" else 0.1)
    assert by_hand.bandwidths_bps("A->B") == (1e6, 2e6)


def test_a_bandwidth_that_was_not_announced(bottleneck):
    simulation = bottleneck.simulation()
    with pytest.raises(ValueError, match=r"bandwidths=\{LINK"):
        simulation.set_bandwidth("A->B", "1 Mbit/s")
    with pytest.raises(ValueError, match="unknown link"):
        bottleneck.simulation(bandwidths={"A-B": ["1 Mbit/s"]})
    with pytest.raises(ValueError):
        bottleneck.simulation(bandwidths={"A->B": [0]})


MODELS = ["fluid", "fluid-literal", "packets"]
DETOUR = ["A", "B", "C"]


@pytest.mark.parametrize("model", MODELS)
def test_what_is_set_at_the_start_is_as_if_the_scenario_said_so(model):
    text = TRIANGLE.replace("poisson", "constant")
    set_so = nf.Scenario.from_toml(text).simulation(model=model, routes={"ac": [DETOUR]}, rates={"ac": ["2 Mbit/s"]})
    set_so.set_route("ac", DETOUR)
    set_so.set_rate("ac", "2 Mbit/s")
    said = text.replace('name = "ac", source = { constant = "1 Mbit/s" }', 'name = "ac", source = { constant = "2 Mbit/s" }, path = ["A", "B", "C"]')
    said_so = nf.Scenario.from_toml(said).simulation(model=model)
    assert said_so.path("ac") == set_so.path("ac") == DETOUR
    for simulation in (set_so, said_so):
        simulation.run_until(7)
        simulation.run_until(20)
    near = {"rel": 0, "abs": 0} if model == "packets" else {"rel": 1e-9}
    assert set_so.totals == pytest.approx(said_so.totals, **near)
    for a, b in zip(set_so.links.to_rows(), said_so.links.to_rows(), strict=True):
        assert a.keys() == b.keys() and a.pop("link") == b.pop("link")
        assert list(a.values()) == [number if number is None else pytest.approx(number, **near) for number in b.values()]


@pytest.mark.parametrize("model", MODELS)
def test_a_controller_moves_a_connection_and_reads_where_it_is(model):
    simulation = nf.Scenario.from_toml(TRIANGLE).simulation(model=model, routes={"ac": [DETOUR]}, rates={"ac": [0, 400]})
    assert simulation.paths("ac") == [["A", "C"], DETOUR] and simulation.paths("ab") == []
    assert simulation.path("ac") == ["A", "C"]
    least, most = simulation.rates_pps("ac")
    assert (least, most) == (0, 400)
    assert simulation.rates_pps("ab") == pytest.approx((1e6 / 12000, 1e6 / 12000))

    def arrivals():
        simulation.advance("2 s")
        return {row["link"]: row["arrival_pps"] for row in simulation.links.to_rows()}

    own = arrivals()
    assert own["A->C"] > 60 and own["B->C"] == 0
    simulation.set_route("ac", iter(DETOUR))
    assert simulation.path("ac") == DETOUR
    arrivals()
    moved = arrivals()
    assert moved["A->C"] == 0 and moved["B->C"] > 60
    simulation.set_rate("ac", 0)
    arrivals()
    assert arrivals()["B->C"] == pytest.approx(0, abs=1e-6) and simulation.rate_pps("ac") == 0
    simulation.set_rate("ac", 300)
    simulation.set_route("ac", None)
    assert simulation.path("ac") == ["A", "C"]
    arrivals()
    back = arrivals()
    assert back["B->C"] == pytest.approx(0, abs=1e-6) and back["A->C"] > 100


def drive(simulation, seed, until):
    dice = random.Random(seed)
    while simulation.time_s < until:
        match dice.randrange(3):
            case 0:
                simulation.set_route("ac", dice.choice([DETOUR, ["A", "C"], None]))
            case 1:
                simulation.set_rate("ac", dice.uniform(0, 400))
            case 2:
                simulation.set_bandwidth("A->C", dice.uniform(1e6, 2e6))
        simulation.run_until(min(until, simulation.time_s + dice.uniform(0.01, 0.5)))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", range(5))
def test_a_copy_that_is_set_likewise_goes_the_same_way(model, seed):
    scenario = nf.Scenario.from_toml(TRIANGLE)
    simulation = scenario.simulation(model=model, routes={"ac": [DETOUR]}, rates={"ac": [0, 400]}, bandwidths={"A->C": [1e6]})
    drive(simulation, seed, 5)
    copy, other = simulation.copy(), simulation.copy()
    drive(other, seed + 1, 10)
    for one in (simulation, copy):
        drive(one, seed + 2, 10)
    assert simulation.totals == copy.totals != other.totals
    assert simulation.links.to_rows() == copy.links.to_rows()


def hostile():
    """Values that are no path, no rate and no name, as programs come by them."""
    numpy = pytest.importorskip("numpy")
    return [
        None, True, False, "", "A", "nonsense", b"A", float("nan"), float("inf"), -float("inf"), -1, -1e-9, 1e300, 10**400, 2**63,
        1j, [], (), {}, set(), [None], [[]], [["A"]], ["A"], ["A", "A"], ["C", "A"], ["A", "X", "C"], ["A", 3], [["A", "C"]], "1 Mbit", "-5 pkt/s",
        object(), lambda: 0, range(3), numpy.float64("nan"), numpy.int64(-3), numpy.array([]), numpy.array([1.0, 2.0]), numpy.array(["A"]),
        numpy.array(float("inf")), numpy.datetime64("2020-01-01"), Exception("no"),
    ]  # fmt: skip


@pytest.mark.parametrize("model", ["fluid", "packets"])
def test_hostile_values_are_refused_and_change_nothing(model):
    def begin(**more):
        return nf.Scenario.from_toml(TRIANGLE).simulation(model=model, **more)

    good = {"routes": {"ac": [DETOUR]}, "rates": {"ac": [0, 400]}}
    simulation, untouched = begin(**good), begin(**good)
    refused = 0
    for value in hostile():
        attempts = [
            lambda: simulation.set_rate("ac", value),
            lambda: simulation.set_rate(value, 100),
            lambda: simulation.set_route(value, DETOUR),
            lambda: simulation.set_route("ab", value),
            lambda: simulation.set_marker("ac", value),
            lambda: simulation.set_marker(value, 1e6),
            lambda: simulation.path(value),
            lambda: simulation.paths(value),
            lambda: simulation.rates_pps(value),
            lambda: simulation.marker_rates_bps(value),
            lambda: begin(routes={"ac": value}),
            lambda: begin(routes={"ac": [value]}),
            lambda: begin(routes={"ac": [["A", value, "C"]]}),
            lambda: begin(rates={"ac": value}),
            lambda: begin(rates={"ac": [value]}),
            lambda: begin(bandwidths={"A->C": value}),
            lambda: begin(bandwidths={"A->C": [value]}),
        ]
        if value is not None:
            attempts.append(lambda: simulation.set_route("ac", value))
        for attempt in attempts:
            try:
                attempt()
            except (ValueError, TypeError, OverflowError) as error:
                assert str(error)
                refused += 1
    assert refused > 550
    assert simulation.path("ac") == ["A", "C"]
    for one in (simulation, untouched):
        one.run_until(5)
    assert simulation.totals == untouched.totals


def test_messages_say_what_is_allowed():
    simulation = nf.Scenario.from_toml(TRIANGLE).simulation(routes={"ac": [DETOUR]}, rates={"ac": [0, 400]})
    with pytest.raises(ValueError, match=r"it may take \[A, C\] or \[A, B, C\]; declare paths in simulation\(routes="):
        simulation.set_route("ac", ["A"])
    with pytest.raises(ValueError, match="unknown node `D`"):
        simulation.set_route("ac", ["A", "D", "C"])
    with pytest.raises(ValueError, match=r"no path of it was announced; declare paths in simulation\(routes="):
        simulation.set_route("ab", ["A", "B"])
    with pytest.raises(ValueError, match=r"between 0 and 400 pkt/s.*simulation\(rates="):
        simulation.set_rate("ac", 401)
    with pytest.raises(ValueError, match="`rate` must be 0 or more"):
        simulation.set_rate("ac", -1)
    with pytest.raises(ValueError, match="the nearest name is `ac`"):
        simulation.set_rate("acc", 10)
    with pytest.raises(ValueError, match="is not in an aggregate"):
        simulation.set_marker("ac", 1e6)
    with pytest.raises(TypeError, match="list of nodes"):
        simulation.set_route("ac", "ABC")
    with pytest.raises(ValueError, match="its path must lead from A to C"):
        nf.Scenario.from_toml(TRIANGLE).simulation(routes={"ac": [["A", "B"]]})
    scenario = nf.Scenario.from_toml(BOTTLENECK)
    with pytest.raises(ValueError, match="TCP controls its own rate"):
        scenario.simulation(rates={"c": [10]})
    tcp = scenario.simulation()
    assert tcp.rates_pps("c") is None
    with pytest.raises(ValueError, match="TCP controls its own rate$"):
        tcp.set_rate("c", 10)


def test_numbers_of_numpy_are_numbers():
    numpy = pytest.importorskip("numpy")
    simulation = nf.Scenario.from_toml(TRIANGLE).simulation(
        routes={"ac": numpy.array([DETOUR])}, rates={"ac": numpy.array([0.0, 400.0])}
    )
    for rate in (numpy.float32(100), numpy.int64(100), numpy.array(100.0)):
        simulation.set_rate("ac", rate)
        simulation.advance(0.5)
        assert simulation.rate_pps("ac") == 100
    simulation.set_route("ac", numpy.array(DETOUR))
    assert simulation.path("ac") == DETOUR


MARKED = """
simulation = { duration = "20 s" }
link = [{ from = "A", to = "B", bandwidth = "2 Mbit/s", delay = "10 ms", buffer = "50 pkt" }]
connection = [
  { from = "A", to = "B", name = "gold", aggregate = "g", source = { poisson = "1 Mbit/s" } },
  { from = "A", to = "B", name = "other", source = { poisson = "1 Mbit/s" } },
]
aggregate = [{ name = "g", conditioner = "trtcm", committed-rate = "0.4 Mbit/s", peak-rate = "0.8 Mbit/s" }]
"""


@pytest.mark.parametrize("model", ["fluid", "packets"])
def test_a_marker_is_set_by_the_name_of_its_aggregate_or_of_a_member(model):
    simulation = nf.Scenario.from_toml(MARKED).simulation(model=model)
    assert simulation.marker_rates_bps("g") == (4e5, 8e5)
    simulation.run_until(3)
    simulation.set_marker("gold", "600 kbit/s")
    assert simulation.marker_rates_bps("g") == simulation.marker_rates_bps("gold") == (6e5, 8e5)
    simulation.set_marker("g", 7e5, peak="1.2 Mbit/s")
    assert simulation.marker_rates_bps("g") == (7e5, 1.2e6)
    with pytest.raises(ValueError, match="below the committed rate"):
        simulation.set_marker("g", "2 Mbit/s")
    with pytest.raises(ValueError, match="unknown aggregate `gg`"):
        simulation.set_marker("gg", 1e6)
    assert simulation.marker_rates_bps("g") == (7e5, 1.2e6)
    simulation.run_until(20)


@pytest.mark.parametrize("model", ["fluid", "packets"])
def test_a_loss_that_is_set_is_that_of_an_event(model):
    source = {"fluid": 'profile = "ns-reno"', "packets": 'window = "reno"'}[model]
    text = BOTTLENECK.replace('profile = "ns-reno"', source)
    event = '\nevent = [{ link = "A->B", at = "5 s", set = { loss = "2 %" } }]\n'
    options = {"set": {"simulation.model": model}}
    by_event = nf.Scenario.from_toml(text + event, **options).simulation()
    by_hand = nf.Scenario.from_toml(text, **options).simulation()
    for simulation in (by_event, by_hand):
        simulation.run_until(5)
    by_hand.set_loss("A->B", 0.02)
    for simulation in (by_event, by_hand):
        simulation.run_until(10)
    assert by_hand.totals == pytest.approx(by_event.totals, rel=1e-9)
    with pytest.raises(ValueError, match="loss is 2, allowed is from 0 to 1"):
        by_hand.set_loss("A->B", 2)
    numpy = pytest.importorskip("numpy")
    for wrong in (True, numpy.bool_(True), "1 %"):
        with pytest.raises(TypeError, match="`loss` must be a number from 0 to 1"):
            by_hand.set_loss("A->B", wrong)


@pytest.mark.parametrize("model", ["fluid", "packets"])
def test_a_delay_that_is_set_is_that_of_an_event(model):
    source = {"fluid": 'profile = "ns-reno"', "packets": 'window = "reno"'}[model]
    text = BOTTLENECK.replace('profile = "ns-reno"', source)
    event = '\nevent = [{ link = "A->B", at = "5 s", set = { delay = "80 ms" } }]\n'
    options = {"set": {"simulation.model": model}}
    by_event = nf.Scenario.from_toml(text + event, **options).simulation()
    by_hand = nf.Scenario.from_toml(text, **options).simulation(delays={"A->B": ["80 ms"]})
    for simulation in (by_event, by_hand):
        simulation.run_until(5)
    by_hand.set_delay("A->B", 0.08)
    for simulation in (by_event, by_hand):
        simulation.run_until(10)
    assert by_hand.totals == pytest.approx(by_event.totals, rel=1e-9)
    assert by_hand.delays_s("A->B")[1] == 0.08


def test_a_delay_that_was_not_announced(bottleneck):
    simulation = bottleneck.simulation()
    with pytest.raises(ValueError, match=r"delays=\{LINK"):
        simulation.set_delay("A->B", "1 s")
    with pytest.raises(ValueError, match="unknown link"):
        bottleneck.simulation(delays={"A-B": ["1 s"]})
    with pytest.raises(ValueError, match="delay"):
        bottleneck.simulation(delays={"A->B": [-1]})
