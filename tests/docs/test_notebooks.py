"""The notebooks of the docs run from the first cell to the last, and are stored without outputs."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from traitlets.config import Config

FOLDER = Path(__file__).parents[2] / "docs/notebooks"
SHOWN = {
    "first_look": ["opus_12k", "codec2_3200 (second)"],
    "my_codec": ["80.0<br><small>declared", "companded", "g722_64k", "application/vnd.plotly"],
    "paper": ["toprule", "amrnb\\\\_12.2k", "application/vnd.plotly"],
}


@pytest.mark.slow  # a dozen seconds of processor time
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of zmq and tornado
def test_the_notebooks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cell raises, each notebook stands alone, and tables and figures are among the outputs.

    One kernel runs all of them, which imports what it needs once. It is reached by sockets of files: numbers of free
    ports, chosen before it starts, are another program's when it binds them on a busy machine, and it dies.
    """
    monkeypatch.setenv("PLOTLY_RENDERER", "plotly_mimetype")  # others write 4 MB of script into the notebook
    books = {name: nbformat.read(FOLDER / f"{name}.ipynb", as_version=4) for name in SHOWN}
    whole = nbformat.v4.new_notebook(metadata=books["paper"].metadata)
    for book in books.values():
        whole.cells += [nbformat.v4.new_code_cell("%reset -f"), *book.cells]  # nothing is left of the one before
    sockets = Config({"KernelManager": {"transport": "ipc", "ip": str(tmp_path / "kernel")}})
    NotebookClient(
        whole, timeout=600, startup_timeout=600, resources={"metadata": {"path": str(tmp_path)}}, config=sockets
    ).execute()
    outputs = {name: str([cell.get("outputs") for cell in book.cells]) for name, book in books.items()}
    assert [words for name in SHOWN for words in SHOWN[name] if words not in outputs[name]] == []


def test_notebooks_are_stored_without_outputs() -> None:
    """A change of a number is no change of a file; all of them are run here."""
    files = sorted(FOLDER.glob("*.ipynb"))
    assert [file.stem for file in files] == sorted(SHOWN)
    for file in files:
        for cell in nbformat.read(file, as_version=4).cells:
            assert cell.cell_type != "code" or (cell.outputs, cell.execution_count) == ([], None), file.name
