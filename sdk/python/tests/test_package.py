"""The package as it is installed, and its example."""

from __future__ import annotations

import runpy
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib as mpl
import pytest
from conftest import ROOT

import plannerd


def test_version_and_types_are_installed() -> None:
    assert (Path(plannerd.__file__).parent / "py.typed").exists()
    assert plannerd.__version__


def test_optional_packages_are_optional() -> None:
    program = """
import sys
for name in ("pyarrow", "pandas", "numpy", "matplotlib"):
    sys.modules[name] = None
import plannerd, plannerd.route
assert plannerd.Rows([("a", 1)]).body(arrow=True).content_type == "application/x-ndjson"
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_tour(program: Path, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mpl.use("agg")
    stream = tmp_path / "stream.csv"
    options = ["--keys", "60", "--intervals", "14", "--instances", "3", "--fluctuation", "0.05", "--seed", "2"]
    with stream.open("w") as out:
        subprocess.run([program, "generate", *options], check=True, stdout=out)
    tour = runpy.run_path(str(ROOT / "sdk" / "python" / "examples" / "tour.py"))
    tour["main"]([str(stream), "--url", url, "--instances", "3", "--output", str(tmp_path)])
    said = capsys.readouterr().out
    assert "60 keys in 14 intervals on 3 instances" in said
    assert "mixed, last" in said
    assert ET.parse(tmp_path / "tour.svg").getroot().tag.endswith("svg")
