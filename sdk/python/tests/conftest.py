"""A server of this project's, in a process of its own, with an empty store."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from plannerd import Client

ROOT = Path(__file__).resolve().parents[3]
VECTORS = ROOT / "sdk" / "vectors"


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, which PLANNERD names or is built."""
    if built := os.environ.get("PLANNERD"):
        return Path(built)
    program = tmp_path_factory.mktemp("program") / "plannerd"
    subprocess.run(["go", "build", "-o", program, "./cmd/plannerd"], cwd=ROOT, check=True)
    return program


@pytest.fixture(scope="session")
def url(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("server")
    command = [str(program), "serve", "--listen", "127.0.0.1:0", "--database-url", f"sqlite:{folder}/plannerd.db"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    assert server.stdout is not None
    try:
        found = None
        for line in server.stdout:  # it ends where the server does
            if found := re.search(r" is at (http\S+) ", line):
                break
        assert found, (folder / "log").read_text()
        yield found[1]
    finally:
        server.terminate()
        server.stdout.close()
        assert server.wait(timeout=60) == 0


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url) as client:
        yield client
