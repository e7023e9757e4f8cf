"""Simulated cards on a whole stack: sold, limited, metered and billed, and called simulated wherever one shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.demo.card_act import MEMORY_MIB, SHARE_PERMILLE, WORK_S, CardPapers, play_card
from config.demo.host import Watch
from config.demo.numbers import FULL, SETTINGS
from config.demo.rest import Api
from config.demo.screen import Screen
from config.demo.stage import Stage
from config.programs import ROOT
from config.stack import Stack

# Not `stack`: this one is started here, with cards, and the others' tests do without them.
pytestmark = [pytest.mark.native, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def cards_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    env = {**os.environ, **SETTINGS, "VXPU_FAKE_CARDS": "2"}
    with Stack(var=tmp_path_factory.mktemp("cards"), env=env, say=lambda line: print(line, flush=True)) as stack:
        yield stack


@pytest.fixture(scope="module")
def stage(cards_stack: Stack) -> Stage:
    site = cards_stack.urls["web"]
    return Stage(
        site=site, socket=cards_stack.layout.agent_socket, agent_state=cards_stack.layout.agent_state,
        operator=Api(site, cards_stack.operator_token), screen=Screen(), timing=FULL, watch=Watch(),
    )  # fmt: skip


@pytest.fixture(scope="module")
def papers(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> CardPapers:
    return play_card(stage, tmp_path_factory.mktemp("invoices"))


def test_two_cards_are_there_and_say_what_they_are(stage: Stage) -> None:
    cards = [row for row in stage.operator.rows("devices") if row["kind"] == "nvidia"]
    assert [(row["simulated"], row["online"], row["compute_units"] > 0) for row in cards] == [(True, True, True)] * 2
    assert all("simulated" in row[name].lower() for row in cards for name in ("model", "vendor"))
    (cpu,) = [row for row in stage.operator.rows("devices") if row["kind"] == "cpu"]
    assert not cpu["simulated"]


def test_the_program_sees_its_slice_and_gets_its_share(stage: Stage, papers: CardPapers) -> None:
    assert stage.screen.broken == []
    assert "Simulated" in papers.report["name"]
    assert papers.report["total_mib"] == MEMORY_MIB
    assert papers.report["got_permille"] <= SHARE_PERMILLE + 20


def test_what_it_used_is_metered_by_the_driver(papers: CardPapers) -> None:
    kernels_permille_s = papers.report["got_permille"] * WORK_S
    used = sum(window["used_permille_s"] for window in papers.usage["windows"])
    assert 0.8 * kernels_permille_s <= used <= 1.1 * kernels_permille_s + SHARE_PERMILLE
    peak = max(window["peak_mib"] for window in papers.usage["windows"])
    assert MEMORY_MIB - 100 <= peak <= MEMORY_MIB


def test_the_bill_says_simulated_on_every_line(papers: CardPapers) -> None:
    assert papers.invoice["simulated"]
    assert all(line["simulated"] for line in papers.invoice["lines"])
    assert float(papers.invoice["total"]) > 0
    assert all(line.rstrip().endswith("simulated") or ",simulated," in line for line in papers.csv.splitlines()[1:])


def test_the_command_line_says_it_too(cards_stack: Stack) -> None:
    env = {"PATH": os.environ["PATH"], "VXPU_SERVER": cards_stack.urls["web"], "VXPU_TOKEN": cards_stack.operator_token}
    argv = [str(Path(sys.executable)), "-m", "cli", "device", "list", "-o", "json"]
    rows = json.loads(subprocess.run(argv, env=env, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    assert sorted(row["simulated"] for row in rows) == [False, True, True]
