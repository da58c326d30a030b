"""The Python of docs/guides/python.md and of the package's README runs, and prints what stands there.
The TOML of all pages is valid TOML."""

import contextlib
import io
import re
import shutil

import pytest
from conftest import ROOT, SCENARIOS

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def matches(pattern, text):
    """Whether a text is what stands there, where `...` is anything within a line, or any lines."""
    parts = [re.escape(part) for part in pattern.strip().split("...")]
    whole = ".*".join(parts) if pattern.strip() == "..." else "[^\n]*".join(parts)
    return re.fullmatch(whole, text.strip(), re.DOTALL)


@pytest.mark.parametrize("page", ["docs/guides/python.md", "python/README.md"])
@pytest.mark.filterwarnings("ignore:assumed")
def test_what_the_page_says_happens(page, tmp_path, monkeypatch):
    for package in ("numpy", "polars", "networkx", "gymnasium"):
        pytest.importorskip(package)
    shutil.copytree(SCENARIOS, tmp_path / "scenarios")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "page"}
    blocks = BLOCK.findall((ROOT / page).read_text())
    assert any(language == "python" for language, _ in blocks)
    printed, wrong = "", []
    for language, text in blocks:
        if language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, page, "exec"), namespace)
            printed = out.getvalue()
        elif language == "text":
            if not matches(text, printed):
                wrong.append(f"{page} says:\n{text}\nprinted was:\n{printed}")
    assert not wrong, "\n".join(wrong)


def test_toml_of_the_pages_parses():
    tomllib = pytest.importorskip("tomllib")
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    tried, wrong = 0, []
    for page in pages:
        for language, text in BLOCK.findall(page.read_text()):
            if language == "toml":
                tried += 1
                try:
                    tomllib.loads(text)
                except tomllib.TOMLDecodeError as error:
                    wrong.append(f"{page.relative_to(ROOT)}: {error}\n{text}")
    assert tried > 10
    assert not wrong, "\n".join(wrong)
