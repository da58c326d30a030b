"""Notebooks run, and their outputs are those that stand in them. `NETFLOW_BLESS=1` writes them anew."""

import os

import pytest
from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def told(notebook):
    """The outputs of a notebook, without what is no text."""
    outputs = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                continue  # warnings of a busy machine
            outputs.append(output.get("text") or output.get("data", {}).get("text/plain"))
    return outputs


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("polars")
    written = nbformat.read(path, as_version=4)
    if any("distributed" in cell.source for cell in written.cells):
        pytest.importorskip("distributed")
    run = nbformat.from_dict(written)
    nbclient.NotebookClient(run, timeout=120, resources={"metadata": {"path": str(path.parent)}}).execute()
    if os.environ.get("NETFLOW_BLESS"):
        for cell in run.cells:
            cell.metadata = {}
        nbformat.write(run, path)
        return
    before = told(nbformat.read(path, as_version=4))
    assert told(run) == before and before
