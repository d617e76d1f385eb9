import json
import re
import subprocess
import sys
from pathlib import Path

import fabricated
import pytest
import yaml
from matplotlib.figure import Figure

from trinity.errors import DataError
from trinity.report import figures
from trinity.report.canvas import style
from trinity.report.choices import graded_by_domain, shares_by_turn
from trinity.report.document import document
from trinity.report.headline import headline
from trinity.report.inputs import read_evaluation
from trinity.report.metrics import metrics, rounded
from trinity.report.results import analyse
from trinity.report.tables import Table
from trinity.report.write import gather, write_report

TASKS = ("demo_math", "demo_code")
STAGE = Path(__file__).parents[2] / "stages" / "report.py"


def titles(figure: Figure) -> list[str]:
    return [figure.get_suptitle(), *(axis.get_title(loc="left") for axis in figure.axes if axis.axison)]


def captions(text: str) -> list[str]:
    return re.findall(r"^#+ .*|^\*\*.*\*\*$|^!\[.*?\]", text, flags=re.MULTILINE)


def test_simulated_is_said_in_every_title_caption_and_figure(tmp_path: Path) -> None:
    fabricated.write_run(tmp_path, TASKS)
    material = gather(fabricated.config(TASKS), tmp_path)
    text = document(material)
    assert len(captions(text)) > 20
    assert [caption for caption in captions(text) if "simulated" not in caption] == []
    with style():
        drawn = [
            figures.learning_curves(material.results, material.histories),
            figures.systems(material.results, 0.95),
            figures.shares(material.results),
        ]
    assert [title for figure in drawn for title in titles(figure) if "simulated" not in title] == []
    assert [len(titles(figure)) for figure in drawn] == [3, 3, 7]
    tables = headline(material.results, 0.95).split("\n\n")
    assert len(tables) == 2
    assert all("simulated" in table for table in tables)
    assert all(values["simulated"] is True for values in metrics(material.results).values())


def test_a_real_pool_is_never_called_simulated(tmp_path: Path) -> None:
    tasks = ("outcomes",)
    fabricated.write_run(tmp_path, tasks, simulated=False, seeds=(0, 1, 2), roles=("worker",))
    material = gather(fabricated.recorded(tasks), tmp_path)
    text = document(material)
    assert [caption for caption in captions(text) if "simulated" in caption] == []
    assert "No figure here is simulated." in text
    assert "so the evaluation seeds coincide" in text
    assert "no cross-fitted value" in text
    assert "simulated" not in headline(material.results, 0.95)
    assert "per-question best (biased upward)" in headline(material.results, 0.95)
    with style():
        panels = titles(figures.shares(material.results))
    assert panels == ["Choices of TRINITY on held-out items", "outcomes\ngraded answers, by domain"]


def test_the_headline_comes_first_and_shows_no_training_score(tmp_path: Path) -> None:
    fabricated.write_run(tmp_path, TASKS)
    material = gather(fabricated.config(TASKS), tmp_path)
    text = document(material)
    assert text.index("## Held-out results") < text.index("## All systems") < text.index("## Learning curves")
    printed = headline(material.results, 0.95)
    for word in ("atlas", "birch", "cedar", "random", "best single", "TRINITY", "best policy", "30 held-out items"):
        assert word in printed
    for word in ("training score", "J ", "valid", "in hindsight"):
        assert word not in printed


def test_the_best_single_is_the_one_chosen_on_training_items(tmp_path: Path) -> None:
    fabricated.write_run(tmp_path, TASKS)
    for result in gather(fabricated.config(TASKS), tmp_path).results:
        means = {agent: result.evaluation.rewards(f"single_{agent}").mean() for agent in fabricated.AGENTS}
        chosen, hindsight = result.systems["best_single"].accuracy, result.systems["best_single_on_test"].accuracy
        assert chosen is not None
        assert hindsight is not None
        assert chosen.value == pytest.approx(means["birch"])
        assert hindsight.value == pytest.approx(max(means.values()))
        assert result.systems["best_single"].versus_best_single is None
        trained = result.systems["trinity_cma"]
        assert trained.accuracy is not None
        assert trained.versus_best_single is not None
        assert trained.versus_best_single.value == pytest.approx(trained.accuracy.value - chosen.value)


def test_metrics_have_stable_dotted_numeric_keys_and_exact_values(tmp_path: Path) -> None:
    fabricated.write_run(tmp_path, TASKS, seeds=(0, 1))
    write_report(fabricated.config(TASKS, optim={"seeds": [0, 1]}), tmp_path)
    written = json.loads((tmp_path / "reports" / "metrics.json").read_text(encoding="utf-8"))
    trained = written["demo_math"]["trinity_cma"]
    assert {"accuracy", "low", "high", "n", "output_tokens", "turns", "versus_best_single"} <= set(trained)
    assert trained["gap_recovered"] == pytest.approx((0.85 - 0.6) / (0.9 - 0.6), abs=1e-6)
    assert written["demo_math"]["best_policy"] == {"exact": 0.9}
    assert trained["n"] == 30
    for system in (value for task in written.values() for value in task.values() if isinstance(value, dict)):
        assert all(isinstance(value, int | float) for value in system.values())


def test_no_gap_is_claimed_where_the_best_policy_is_no_better(tmp_path: Path) -> None:
    fabricated.write_run(tmp_path, TASKS)
    path = tmp_path / "data" / "evaluation" / "demo_math" / "summary.json"
    summary = json.loads(path.read_text(encoding="utf-8"))
    summary["exact"]["best_policy"] = summary["exact"]["best_single"]
    path.write_text(json.dumps(summary), encoding="utf-8")
    first, second = gather(fabricated.config(TASKS), tmp_path).results
    assert first.systems["trinity_cma"].gap_recovered is None
    assert second.systems["trinity_cma"].gap_recovered is not None


def test_rounding_does_not_hang_on_the_last_bit() -> None:
    assert rounded(1 / 128 + 1e-17) == rounded(1 / 128 - 1e-17) == round(1 / 128, 6)
    assert str(rounded(-1e-9)) == "0.0"
    assert rounded(3) == 3


def test_choices_are_shares_of_all_episodes(tmp_path: Path) -> None:
    fabricated.write_run(tmp_path, TASKS)
    evaluation = gather(fabricated.config(TASKS), tmp_path).results[0].evaluation
    rows = evaluation.rows("trinity_cma")
    for column in ("agents", "roles"):
        shares = shares_by_turn(evaluation, "trinity_cma", column)
        reached = [(rows["turns"] >= turn).mean() for turn in range(1, shares.shape[1] + 1)]
        assert shares.sum(axis=0) == pytest.approx(reached)
    first = rows["agents"].str.split(">").str[0].astype(int)
    assert shares_by_turn(evaluation, "trinity_cma", "agents")[1, 0] == pytest.approx((first == 1).mean())
    domains, graded = graded_by_domain(evaluation, "trinity_cma")
    assert domains == ("areas", "calendar", "equations")
    without_worker = [(~rows[rows["domain"] == domain]["roles"].str.contains("W")).mean() for domain in domains]
    assert 1 - graded.sum(axis=0) == pytest.approx(without_worker)


def test_graded_is_the_latest_worker(tmp_path: Path) -> None:
    rows = fabricated.episodes("demo", 3, True, (0,), ("thinker", "worker", "verifier"))
    for row in rows:
        if row["system"] == "trinity_cma":
            row |= {"turns": 4, "agents": "0>2>0>1", "roles": "W>W>T>V"}
    fabricated.write_run(tmp_path, ("demo",), items=3)
    fabricated.write_csv(tmp_path / "data" / "evaluation" / "demo" / "episodes.csv", rows)
    evaluation = gather(fabricated.config(("demo",)), tmp_path).results[0].evaluation
    assert graded_by_domain(evaluation, "trinity_cma")[1].tolist() == [[0, 0, 0], [0, 0, 0], [1, 1, 1]]


def test_the_same_inputs_give_the_same_bytes_without_dates_or_names(tmp_path: Path) -> None:
    written = []
    for name in ("one", "two"):
        fabricated.write_run(tmp_path / name, ("demo",), items=10)
        write_report(fabricated.config(("demo",)), tmp_path / name)
        reports = tmp_path / name / "reports"
        written.append({path.relative_to(reports): path.read_bytes() for path in reports.rglob("*") if path.is_file()})
    assert written[0] == written[1]
    pictures = [content for path, content in written[0].items() if path.suffix == ".png"]
    assert len(pictures) == 3
    for content in pictures:
        assert not re.search(rb"tEXt|iTXt|zTXt|tIME|Matplotlib", content)


def test_one_item_is_reported_without_an_interval(tmp_path: Path) -> None:
    fabricated.write_run(tmp_path, ("demo",), items=1)
    told = write_report(fabricated.config(("demo",)), tmp_path)
    assert "one item: no interval" in told
    assert "That is no certainty." in (tmp_path / "reports" / "report.md").read_text(encoding="utf-8")


def test_many_agents_are_drawn_and_the_rare_ones_share_grey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fabricated.write_run(tmp_path, ("outcomes",), simulated=False, roles=("worker",))
    material = gather(fabricated.recorded(("outcomes",)), tmp_path)
    monkeypatch.setattr(figures, "AGENT_COLOURS", figures.AGENT_COLOURS[:2])
    figure = figures.shares(material.results)
    labels = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert labels[-1] == "other agents"
    assert len(labels) == 3


def test_an_evaluation_with_another_pool_is_refused(tmp_path: Path) -> None:
    fabricated.write_run(tmp_path, ("outcomes",), simulated=True)
    with pytest.raises(DataError, match=r"outcomes: evaluated with a simulated pool, but pool\.kind is recorded"):
        gather(fabricated.recorded(("outcomes",)), tmp_path)


def test_only_the_methods_of_params_are_needed(tmp_path: Path) -> None:
    fabricated.write_run(tmp_path, ("demo",))
    (tmp_path / "reports" / "history" / "demo" / "rs.csv").unlink()
    with pytest.raises(DataError, match=r"rs\.csv: not found"):
        write_report(fabricated.config(("demo",)), tmp_path)
    write_report(fabricated.config(("demo",), baselines={"methods": ["sft"]}), tmp_path)
    text = (tmp_path / "reports" / "report.md").read_text(encoding="utf-8")
    assert "0.374" in text  # the paper's RS stands beside ours, which is blank


def test_cells_cannot_break_a_table() -> None:
    table = Table("caption", ["a", "b"], [["x|y", ""], ["line\nbreak", "1"]])
    assert table.markdown().splitlines()[-2:] == ["| x\\|y |  |", "| line break | 1 |"]


def test_the_stage_prints_the_headline_or_one_line(tmp_path: Path) -> None:
    command = [sys.executable, str(STAGE)]
    params = yaml.safe_load(fabricated.PARAMS.read_text(encoding="utf-8"))
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params | {"tasks": ["demo_math"]}), encoding="utf-8")
    failed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert re.fullmatch(r"data\S*summary\.json: not found: run `dvc repro`\n", failed.stderr)
    fabricated.write_run(tmp_path, ("demo_math",), items=6)
    passed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (passed.returncode, passed.stderr) == (0, "")
    assert passed.stdout.startswith("demo_math: 6 held-out items")
    assert (tmp_path / "reports" / "figures" / "systems.png").stat().st_size > 10_000


def test_the_best_agent_a_domain_is_scored_on_test_items_and_a_new_domain_gets_the_best_single(tmp_path: Path) -> None:
    fabricated.write_run(tmp_path, ["demo_math"])
    folder = tmp_path / "data" / "evaluation" / "demo_math"
    summary = json.loads((folder / "summary.json").read_text())
    known = analyse(read_evaluation(folder), fabricated.config(["demo_math"])).systems["best_domain_agent"]
    assert known.accuracy is not None
    assert known.accuracy.value > 0.8
    summary["best_by_domain"] = {"another": "atlas"}
    (folder / "summary.json").write_text(json.dumps(summary))
    systems = analyse(read_evaluation(folder), fabricated.config(["demo_math"])).systems
    assert systems["best_domain_agent"].accuracy == systems["best_single"].accuracy
