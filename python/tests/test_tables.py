"""Tables: what they hold, and how others take them."""

import pickle

import netflow_evaluator as nf
import pytest


def test_rows_and_columns(bottleneck):
    table = bottleneck.run(interval="5 s").links
    assert table.shape == (4, 8) and len(table) == 4
    assert table["link"] == ["A->B", "B->A", "A->B", "B->A"]
    assert table[-1] == table[3] and table[0]["time_s"] == 5
    assert table.to_rows()[1] == table[1]
    assert list(table.to_dict()) == table.column_names
    with pytest.raises(IndexError, match="4"):
        table[4]
    for place in (-5, 2**63 - 1, -(2**63)):
        with pytest.raises(IndexError):
            table[place]
    with pytest.raises(OverflowError):
        table[2**63]
    with pytest.raises(KeyError) as caught:
        table["queue_pkt"]
    assert caught.value.args == ("unknown column `queue_pkt`; the nearest name is `queue_pkts`",)
    with pytest.raises(TypeError):
        table[1.5]


def test_former_names_of_columns_are_deprecated(bottleneck):
    table = bottleneck.run(interval="5 s").links
    with pytest.warns(DeprecationWarning, match="column `queueing_delay_s` is now `sojourn_time_s`"):
        assert table["queueing_delay_s"] == table["sojourn_time_s"]


def test_what_is_not_known_is_none():
    text = """
    simulation = { duration = "2 s" }
    link = [{ from = "A", to = "B", bandwidth = "1 Mbit/s", delay = "1 ms" }]
    connection = [{ from = "A", to = "B", source = { poisson = "0.5 Mbit/s" } }]
    """
    results = nf.Scenario.from_toml(text).run()
    assert set(results.connections["rtt_s"]) == {None}


def test_polars_takes_it_as_it_is(bottleneck):
    polars = pytest.importorskip("polars")
    table = bottleneck.run().links
    frame = table.to_polars()
    assert frame.shape == table.shape and frame.columns == table.column_names
    assert frame["queue_pkts"].to_list() == table["queue_pkts"]
    assert polars.DataFrame(table).equals(frame)


def test_pandas_and_pyarrow(bottleneck):
    pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    table = bottleneck.run().connections
    frame = table.to_pandas()
    assert list(frame.columns) == table.column_names
    assert frame["goodput_pps"].tolist() == table["goodput_pps"]
    assert pyarrow.table(table).num_rows == len(table)


def test_duckdb_asks_it(bottleneck):
    duckdb = pytest.importorskip("duckdb")
    table = rows = bottleneck.run().links
    found = duckdb.sql("select link, max(queue_pkts) from rows group by link order by link").fetchall()
    assert found[0][0] == "A->B"
    assert found[0][1] == max(row["queue_pkts"] for row in table.to_rows() if row["link"] == "A->B")


def test_it_outlives_what_it_is_of(bottleneck):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(bottleneck.run().links)
    assert frame["time_s"].max() == 10


def test_pickles(bottleneck):
    for table in (bottleneck.run().links, bottleneck.run().connection_means, bottleneck.solve().connections):
        again = pickle.loads(pickle.dumps(table))
        assert again.to_dict() == table.to_dict()
