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
