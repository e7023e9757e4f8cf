"""An agent that is killed (-9) at random moments, over and over, under a program that computes."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.agent.agents import running_agent, settle
from tests.agent.bench import skip_unless_root, wait_for
from tests.agent.test_outage import assert_every_window_once
from tests.soak import SayFigures, scaled

pytestmark = [pytest.mark.soak, pytest.mark.native, pytest.mark.timeout(900)]
DEATHS = 25


@pytest.mark.parametrize("seed", [1, 2])
def test_an_agent_that_dies_all_the_time_loses_no_window_and_disturbs_no_program(
    tmp_path: Path, say_figures: SayFigures, seed: int
) -> None:
    skip_unless_root()
    own, deaths = random.Random(seed), scaled(DEATHS)  # noqa: S311 - a repeatable story
    with running_agent(tmp_path / "node") as agent:
        agent.peer.want()
        agent.wait_state("ready")
        program = agent.burn(seconds=600)
        assert program.stdout is not None
        program.stdout.readline()
        for _ in range(deaths):
            time.sleep(own.uniform(0.2, 3))
            agent.kill()
            agent.start()
        assert program.poll() is None
        agent.wait_state("ready")
        agent.peer.drop()
        agent.wait_state("gone")
        settle(agent)
        assert_every_window_once(agent)
        wait_for(lambda: not agent.group().exists(), what="nothing is left")
        used = sum(event.data.used_permille_s or 0 for event in agent.peer.events.values())
        say_figures(deaths=deaths, windows=len(agent.peer.events), used_permille_s=used, lost=0, doubled=0)
