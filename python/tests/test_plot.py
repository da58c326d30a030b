"""Pictures."""

import netflow_evaluator as nf
import pytest


@pytest.fixture
def axes():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def test_links_over_time(bottleneck, axes):
    results = bottleneck.run()
    assert nf.plot_links(results, ax=axes) is axes
    assert [line.get_label() for line in axes.lines] == ["A->B", "B->A"]
    assert list(axes.lines[0].get_xdata()) == results.links["time_s"][::2]
    assert axes.get_ylabel() == "queue in packets"


def test_bands_over_seeds(axes):
    text = """
    simulation = { duration = "5 s", model = "packet" }
    link = [{ from = "A", to = "B", bandwidth = "2 Mbit/s", delay = "10 ms", buffer = "20 pkt" }]
    connection = [{ from = "A", to = "B", name = "c", source = { ns2-tcp = "reno" } }]
    """
    runs = [nf.Scenario.from_toml(text, set={"simulation.seed": seed}).run() for seed in (1, 2)]
    nf.plot_connections(runs, ["c"], ax=axes)
    assert len(axes.lines) == 1 and len(axes.collections) == 1


def test_what_is_not_there(bottleneck, axes):
    results = bottleneck.run()
    with pytest.raises(ValueError, match="unknown link `X`"):
        nf.plot_links(results, ["X"], ax=axes)
    with pytest.raises(ValueError, match="unknown column `queues`"):
        nf.plot_links(results, column="queues", ax=axes)
    with pytest.raises(ValueError, match="no results"):
        nf.plot_links([], ax=axes)


def test_results_of_different_intervals_are_not_mixed(bottleneck, axes):
    fine, coarse = bottleneck.run(interval="1 s"), bottleneck.run(interval="5 s")
    for runs in ([fine, coarse], [coarse, fine]):
        with pytest.raises(ValueError, match="results 1 have .* intervals to 10 s, but earlier results have .* the same interval"):
            nf.plot_links(runs, ax=axes)
    bottleneck.set("simulation.duration", "5 s")
    with pytest.raises(ValueError, match="5 intervals to 5 s, but earlier results have 10 intervals to 10 s"):
        nf.plot_links([fine, bottleneck.run(interval="1 s")], ax=axes)
    assert nf.plot_links([coarse, coarse], ax=axes) is axes


def test_what_starts_late_is_among_the_largest(axes):
    connections = "".join(
        f'{{ from = "A", to = "B", name = "c{i}", source = {{ constant = "100 kbit/s" }} }},' for i in range(5)
    )
    text = f"""
    simulation = {{ duration = "20 s" }}
    link = [
      {{ from = "A", to = "B", bandwidth = "10 Mbit/s", delay = "10 ms" }},
      {{ from = "C", to = "B", bandwidth = "10 Mbit/s", delay = "20 ms" }},
    ]
    connection = [{connections} {{ from = "C", to = "B", name = "late", start = "15 s", source = {{ constant = "100 kbit/s" }} }}]
    """
    results = nf.Scenario.from_toml(text).run()
    assert None in results.connections["delay_s"]
    nf.plot_connections(results, column="delay_s", ax=axes)
    assert axes.lines[0].get_label() == "late" and len(axes.lines) == 5
