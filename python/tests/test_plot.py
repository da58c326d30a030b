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
    simulation = { duration = "5 s", model = "packets" }
    link = [{ from = "A", to = "B", bandwidth = "2 Mbit/s", delay = "10 ms", buffer = "20 pkt" }]
    connection = [{ from = "A", to = "B", name = "c", source = { window = "reno" } }]
    """
    runs = [nf.Scenario.from_toml(text, set={"simulation.seed": seed}).run() for seed in (1, 2)]
    nf.plot_connections(runs, ["c"], ax=axes)
    assert len(axes.lines) == 1 and len(axes.collections) == 1


def test_what_is_not_there(bottleneck, axes):
    results = bottleneck.run()
    with pytest.raises(ValueError, match="no link `X`"):
        nf.plot_links(results, ["X"], ax=axes)
    with pytest.raises(ValueError, match="no column `queues`"):
        nf.plot_links(results, column="queues", ax=axes)
    with pytest.raises(ValueError, match="no results"):
        nf.plot_links([], ax=axes)
