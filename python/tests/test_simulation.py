"""Networks moved step by step."""

import netflow_evaluator as nf
import pytest
from conftest import BOTTLENECK


@pytest.mark.parametrize("model", ["fluid", "packets"])
def test_moved_bit_by_bit_it_comes_to_the_same(model):
    scenario = nf.Scenario.from_toml(BOTTLENECK.replace('profile = "ns-reno"', 'window = "reno"'), set={"simulation.model": "packets"})
    if model == "fluid":
        scenario = nf.Scenario.from_toml(BOTTLENECK)
    run = scenario.run(every="1 s")
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
    simulation.step()
    assert 0 < simulation.time_s < 10 and simulation.steps == 1
    assert simulation.run_until(5) == pytest.approx(5, abs=0.1)
    assert 0 < simulation.queue_pkts("A->B") <= 20
    assert 0 < simulation.blocking("A->B") < 1
    assert 0 < simulation.utilization("A->B") <= 1
    assert simulation.rate_pps("c") > 100
    sent, delivered, lost = simulation.totals
    assert sent > delivered > 0 and lost > 0
    with pytest.raises(ValueError, match="is over"):
        simulation.run_until(1)
    with pytest.raises(ValueError, match="nearest name is `A->B`"):
        simulation.queue_pkts("A-B")
    with pytest.raises(ValueError, match="connection"):
        simulation.rate_pps("d")


def test_a_copy_goes_its_own_way(bottleneck):
    simulation = bottleneck.simulation()
    simulation.run_until(3)
    other = simulation.copy()
    other.run_until(10)
    assert simulation.time_s < other.time_s
    simulation.run_until(10)
    assert simulation.totals == other.totals


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
    with pytest.raises(ValueError, match="no link"):
        bottleneck.simulation(bandwidths={"A-B": ["1 Mbit/s"]})
    with pytest.raises(ValueError):
        bottleneck.simulation(bandwidths={"A->B": [0]})
