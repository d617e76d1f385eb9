"""params.yaml: every mistake is one line that names the file, the key and what is allowed."""

import copy
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, ValidationError

from trinity.config import load_config, parse_config
from trinity.config.values import Section
from trinity.errors import ConfigError
from trinity.types import Role

TEXT = (Path(__file__).parents[2] / "params.yaml").read_text(encoding="utf-8")
RAW: dict[str, Any] = yaml.safe_load(TEXT)
RAW["data"]["outcomes"] = {"table": {"path": "table.jsonl", "kinds": ["a"]}}
RAW["pool"]["agents"][0] |= {
    "model": "openai/atlas",
    "decoding": {"max_tokens": 10, "temperature": 0.0, "top_p": 1.0},
    "price": {"input": 0.25, "output": 2.0},
}


def at(raw: Any, path: Iterable[str]) -> Any:
    for part in path:
        raw = raw[int(part) if isinstance(raw, list) else part]
    return raw


def changed(*changes: tuple[str, Any]) -> str:
    """The text of the demo's parameters, with some dotted keys set to other values."""
    raw = copy.deepcopy(RAW)
    for key, value in changes:
        *path, last = key.split(".")
        section = at(raw, path)
        section[int(last) if isinstance(section, list) else last] = value
    return json.dumps(raw)  # JSON is YAML


def said(text: str, name: str = "params.yaml") -> list[str]:
    """The lines of what is wrong with a text."""
    with pytest.raises(ConfigError) as refused:
        parse_config(text, name)
    return str(refused.value).split("\n")


def sections(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], type[BaseModel]]]:
    """Every section of a configuration, with the keys that lead to it."""
    if isinstance(value, BaseModel):
        yield path, type(value)
        parts: Any = ((name, getattr(value, name)) for name in type(value).model_fields)
    else:
        parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from sections(part, (*path, str(key)))


SECTIONS = dict(sections(parse_config(changed())))
NESTED = {path: model for path, model in SECTIONS.items() if path}


def inside(path: tuple[str, ...], key: str) -> str:
    return ".".join((*path, key))


def test_the_walk_reaches_every_section() -> None:
    assert set(SECTIONS.values()) == set(Section.__subclasses__())


@pytest.mark.parametrize("path", SECTIONS, ids=".".join)
def test_an_unknown_key_is_refused_everywhere(path: tuple[str, ...]) -> None:
    key = inside(path, "surplus")
    allowed = ", ".join(SECTIONS[path].model_fields)
    assert said(changed((key, 1))) == [f"params.yaml: {key}: unknown key; allowed: {allowed}"]


@pytest.mark.parametrize("path", SECTIONS, ids=".".join)
def test_an_ill_typed_value_is_refused_everywhere(path: tuple[str, ...]) -> None:
    keys = [inside(path, field) for field in SECTIONS[path].model_fields]
    lines = said(changed(*((key, [[]]) for key in keys)))
    for key in keys:
        assert [line for line in lines if line.startswith((f"params.yaml: {key}: ", f"params.yaml: {key}.0: "))], key
    assert len(lines) == len(keys)
    shown = [line for line in lines if "key_env" not in line]
    assert all(line.endswith((", got [[]]", ", got []")) for line in shown)


REQUIRED = [path for path, model in SECTIONS.items() if any(f.is_required() for f in model.model_fields.values())]


@pytest.mark.parametrize("path", REQUIRED, ids=".".join)
def test_a_missing_key_is_named(path: tuple[str, ...]) -> None:
    raw = json.loads(changed())
    at(raw, path).clear()
    required = [name for name, field in SECTIONS[path].model_fields.items() if field.is_required()]
    assert said(json.dumps(raw)) == [f"params.yaml: {inside(path, name)}: missing" for name in required]


@pytest.mark.parametrize("path", NESTED, ids=".".join)
def test_a_section_that_is_no_mapping_is_told_its_keys(path: tuple[str, ...]) -> None:
    key, allowed = ".".join(path), ", ".join(NESTED[path].model_fields)
    assert said(changed((key, 7))) == [f"params.yaml: {key}: must be a mapping with the keys {allowed}, got 7"]


@pytest.mark.parametrize(
    "key, value, line",
    [
        ("slm.dtype", "float16", "allowed: 'float32', 'float64' or 'bfloat16', got 'float16'"),
        ("head.features", "L2", "allowed: 'l2', 'raw' or 'centred', got 'L2'"),
        ("optim.selection", 3, "allowed: 'sample' or 'argmax', got 3"),
        ("svf.enabled", "maybe", "must be true or false, got 'maybe'"),
        ("svf.enabled", 1, "must be true or false, got 1"),
        ("optim.m", "24", "must be a whole number, got '24'"),
        ("optim.m", 0, "must be a whole number, 1 or more, got 0"),
        ("optim.m", 2.0, "must be a whole number, got 2.0"),
        ("optim.m", True, "must be a whole number, got True"),
        ("optim.population", 3, "must be a whole number, 4 or more, got 3"),
        ("optim.sigma0", 0, "must be a number above 0, got 0"),
        ("optim.sigma0", True, "must be a number, got True"),
        ("optim.sigma0", "much", "must be a number, got 'much'"),
        ("optim.sigma0", "nan", "must be a finite number, got 'nan'"),
        ("optim.sigma0", "-inf", "must be a finite number, got '-inf'"),
        ("episode.temperature", -0.1, "must be a number, 0 or more, got -0.1"),
        ("episode.top_p", 1.5, "must be a number from 0 to 1, got 1.5"),
        ("pool.simulated.agents.atlas.skill.areas", 2, "must be a number from 0 to 1, got 2"),
        ("data.n_train", 0, "must be a whole number, 1 or more, got 0"),
        ("pool.tries", 0, "must be a whole number, 1 or more, got 0"),
        ("pool.budget_calls", -1, "must be a whole number, 0 or more, got -1"),
        ("pool.agents.0.model", 7, "must be text, got 7"),
        ("slm.read_position", 0, "must be a whole number, -1 or less, got 0"),
        ("slm.tiny.layers", 2, "must be a whole number, 3 or more, got 2"),
        ("optim.seeds", [], "list should have at least 1 item after validation, not 0, got []"),
        ("eval.seeds", None, "must be a list, got None"),
        ("roles.max_output_chars", 10, "must be a whole number, 200 or more, got 10"),
    ],
)
def test_what_is_allowed_is_said(key: str, value: Any, line: str) -> None:
    assert said(changed((key, value))) == [f"params.yaml: {key}: {line}"]


def test_a_number_too_large_for_a_float_is_no_crash() -> None:
    assert said(changed(("optim.sigma0", 10**400)))[0].startswith("params.yaml: optim.sigma0: must be a number, got 1")


def test_names_and_choices_inside_lists_are_found() -> None:
    assert said(changed(("episode.roles", ["worker", "critic"]))) == [
        "params.yaml: episode.roles.1: allowed: 'thinker', 'worker' or 'verifier', got 'critic'"
    ]
    assert said(changed(("baselines.methods", ["rs", "adam"]))) == [
        "params.yaml: baselines.methods.1: allowed: 'rs', 'reinforce' or 'sft', got 'adam'"
    ]
    (line,) = said(changed(("tasks", ["demo_math", "../secrets"])))
    assert line.startswith("params.yaml: tasks.1: ")
    assert "got '../secrets'" in line
    (line,) = said(changed(("slm.device", "gpu")))
    assert line.startswith("params.yaml: slm.device: ")
    assert "auto|cpu|cuda" in line
    (line,) = said(changed(("slm.device", "cuda:x")))
    assert "got 'cuda:x'" in line


def test_a_near_miss_is_guessed() -> None:
    (line,) = said(changed(("optim.sigma_0", 0.2)))
    assert line.startswith("params.yaml: optim.sigma_0: unknown key (did you mean sigma0?); allowed: sigma0, ")
    (line,) = said(changed(("optimiser", {})))
    assert line.startswith("params.yaml: optimiser: unknown key (did you mean optim?); allowed: data, tasks, slm, ")


@pytest.mark.parametrize("name", ["path", "kinds"])
def test_a_table_named_like_a_field_is_no_field(name: str) -> None:
    assert said(changed(("data.outcomes", {name: {"path": "t", "surplus": 1}}))) == [
        f"params.yaml: data.outcomes.{name}.surplus: unknown key; allowed: path, kinds"
    ]


def test_all_mistakes_are_told_at_once_in_order() -> None:
    lines = said(changed(("optim.m", "x"), ("slm.dtype", "x"), ("svf.surplus", 1)), "mine.yaml")
    assert [line.split(": ")[:2] for line in lines] == [
        ["mine.yaml", "slm.dtype"], ["mine.yaml", "svf.surplus"], ["mine.yaml", "optim.m"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    "changes, line",
    [
        ([("tasks", ["demo_math", "demo_math"])], "tasks: each task once"),
        ([("slm.tiny", None)], "slm.tiny: given exactly when slm.model is tiny-qwen3"),
        ([("slm.model", "Qwen/Qwen3-0.6B")], "slm.tiny: given exactly when slm.model is tiny-qwen3"),
        ([("episode.roles", ["worker", "worker"])], "episode: roles: each role once"),
        (
            [("episode.roles", ["thinker", "verifier"])],
            "episode: roles: must contain worker, since only a Worker's output is graded",
        ),
        ([("pool.simulated", None)], "pool: simulated: needed when pool.kind is simulated"),
        ([("pool.concurrency", {"elm": 2})], "pool: concurrency: no agent elm; agents: atlas, birch, cedar"),
        (
            [("pool.kind", "litellm"), ("pool.agents.0.params", {"seed": 1, "max_tokens": 9})],
            "pool: agents: atlas: params: max_tokens: set by episode, or by `decoding` of the agent: take it out",
        ),
        ([("episode.max_tokens", None)], "episode.max_tokens: the simulated pool needs a number"),
        (
            [("pool.agents", [{"name": "atlas"}, {"name": "dune"}, {"name": "elm"}])],
            "pool: simulated.agents: no entry for dune, elm",
        ),
        (
            [("pool.agents", [{"name": "atlas"}, {"name": "atlas"}])],
            "pool: agents: names must differ, got ['atlas', 'atlas']",
        ),
        (
            [("pool.kind", "recorded"), ("tasks", ["table"])],
            "episode: a recorded pool has one Worker turn: set max_turns: 1 and roles: [worker]",
        ),
        (
            [("pool.kind", "recorded"), ("tasks", ["table"]), ("episode.roles", ["worker"])],
            "episode: a recorded pool has one Worker turn: set max_turns: 1 and roles: [worker]",
        ),
        (
            [("pool.kind", "recorded"), ("episode.roles", ["worker"]), ("episode.max_turns", 1)],
            "data.outcomes: no table for task demo_math, demo_choice, demo_freeform, demo_code",
        ),
    ],
)
def test_sections_that_disagree(changes: list[tuple[str, Any]], line: str) -> None:
    assert said(changed(*changes)) == [f"params.yaml: {line}"]


def test_a_recorded_pool_with_its_table_is_taken() -> None:
    recorded = [
        ("pool.kind", "recorded"),
        ("episode.roles", ["worker"]),
        ("episode.max_turns", 1),
        ("tasks", ["table"]),
    ]
    config = parse_config(changed(*recorded))
    assert not config.simulated
    assert config.episode.roles == [Role.WORKER]


@pytest.mark.parametrize(
    "written, number", [("1e-6", 1e-6), ("2E3", 2000.0), ("3", 3.0), ("'0.5'", 0.5), ("1.5e-3", 1.5e-3)]
)
def test_a_number_may_be_written_as_in_print(written: str, number: float) -> None:
    text, replaced = re.subn(r"(?m)^  sigma0: \S+", f"  sigma0: {written}", TEXT)
    assert replaced == 1
    assert parse_config(text).optim.sigma0 == number


def test_the_file_itself_may_be_wrong(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    with pytest.raises(
        ConfigError, match=r"params\.yaml: not found: run from the repository root, or `trinity preset demo`"
    ):
        load_config(path)
    path.write_bytes(b"data: \xff")
    with pytest.raises(ConfigError, match=r"params\.yaml: cannot be read: .*utf-8"):
        load_config(path)
    with pytest.raises(ConfigError, match="cannot be read: "):
        load_config(tmp_path)
    path.write_text(TEXT, encoding="utf-8")
    assert load_config(path) == parse_config(TEXT)


@pytest.mark.parametrize(
    "text, line",
    [
        ("data: {seed: 0\ntasks: [", "params.yaml: line 2 is not YAML: "),
        ("data:\n\tseed: 0", "params.yaml: line 2 is not YAML: "),
        ("data: \x00", "params.yaml: is not YAML: unacceptable character"),
        ("data: {seed: 2020-99-99}", "params.yaml: is not YAML: month must be in 1..12"),
        ("- data", "params.yaml: must be a mapping of sections: data, tasks, slm, "),
        ("", "params.yaml: must be a mapping of sections: data, "),
    ],
)
def test_text_that_is_no_mapping(text: str, line: str) -> None:
    (only,) = said(text)
    assert only.startswith(line)


def test_a_configuration_cannot_be_changed() -> None:
    config = parse_config(TEXT)
    with pytest.raises(ValidationError, match="frozen"):
        config.optim.sigma0 = 3.0
    assert config.agents == ("atlas", "birch", "cedar")
    assert config.simulated


@pytest.mark.parametrize("key", ["optim.seeds", "eval.seeds"])
def test_a_seed_named_twice_is_refused(key: str) -> None:
    section, name = key.split(".")
    raw = yaml.safe_load(TEXT)
    raw[section][name] = [0, 1, 0]
    with pytest.raises(ConfigError, match=rf"params.yaml: {key}: each once, got \[0, 1, 0\]"):
        parse_config(yaml.safe_dump(raw))


def test_a_key_that_stands_twice_is_refused_with_its_line() -> None:
    with pytest.raises(ConfigError, match=r"params.yaml: line \d+ is not YAML: the key 'svf' stands twice"):
        parse_config(TEXT + "\nsvf: {enabled: false, matrices: layer, sigma_ratio: 1}\n")
    with pytest.raises(ConfigError, match="nested too deeply"):
        parse_config("[" * 3000)


def test_an_outcome_table_needs_a_recorded_pool() -> None:
    raw = copy.deepcopy(RAW)
    raw["tasks"] = ["table"]
    with pytest.raises(ConfigError, match=r"tasks: table: an outcome table needs pool.kind: recorded"):
        parse_config(yaml.safe_dump(raw))


@pytest.mark.parametrize(
    "pasted", ["sk-or-v1-0123456789abcdef", "AKIA0123456789ABCDEF", "sk_live_KEY", 7, ["sk-1"], {"sk-1": "sk-2"}]
)
def test_a_key_in_place_of_its_name_is_never_shown(pasted: Any) -> None:
    (line,) = said(changed(("pool.agents.0.key_env", pasted)))
    assert line.startswith("params.yaml: pool.agents.0.key_env: ")
    for part in ("sk-", "AKIA", "sk_live", "7"):
        assert part not in line


@pytest.mark.parametrize(
    "key, nested",
    [
        ("pool.agents", [[{"name": "a", "key_env": "sk-or-secret123"}]]),
        ("pool.agents", {"name": "a", "key_env": "sk-or-secret123"}),
        ("pool.agents.0", [{"key_env": "sk-or-secret123"}]),
        ("pool", [{"agents": [{"key_env": "sk-or-secret123"}]}]),
        ("pool.concurrency", [[[{"key_env": "sk-or-secret123"}]]]),
        ("pool.agents.0.decoding", [{"key_env": "sk-or-secret123"}]),
    ],
)
def test_a_key_in_settings_of_the_wrong_shape_is_never_shown(key: str, nested: Any) -> None:
    lines = said(changed((key, nested)))
    assert any(line.startswith(f"params.yaml: {key}") for line in lines)
    assert not any("secret123" in line for line in lines)


def test_the_concurrency_of_an_agent_is_a_count() -> None:
    assert said(changed(("pool.concurrency", {"atlas": 0}))) == [
        "params.yaml: pool.concurrency.atlas: must be a whole number, 1 or more, got 0"
    ]


def test_where_a_param_is_set_is_said() -> None:
    params = {"temperature": 1, "api_key": "x", "base_url": "y", "seed": 1}
    assert said(changed(("pool.kind", "litellm"), ("pool.agents.0.params", params))) == [
        "params.yaml: pool: agents: atlas: params: api_key: the key is named by `key_env` of the agent; base_url: set "
        "by `api_base` of the agent; temperature: set by episode, or by `decoding` of the agent: take it out"
    ]


@pytest.mark.parametrize("params", [{"api_key": "sk-1"}, {"extra_headers": {"Authorization": "Bearer sk-1"}}])
def test_a_key_among_the_params_is_refused_and_not_shown(params: dict[str, Any]) -> None:
    (line,) = said(changed(("pool.kind", "litellm"), ("pool.agents.0.params", params)))
    assert f"atlas: params: {next(iter(params))}" in line
    assert "sk-1" not in line


@pytest.mark.parametrize("address", ["127.0.0.1:8101/v1", "localhost", "ftp://x", "http://"])
def test_an_address_needs_its_scheme(address: str) -> None:
    (line,) = said(changed(("pool.agents.0.api_base", address)))
    assert "must begin with http:// or https://" in line


def test_one_model_at_two_addresses_is_refused() -> None:
    agents = [{"name": name, "model": "openai/m", "api_base": f"http://127.0.0.1:{port}/v1"} for name, port in
              (("one", 8101), ("two", 8102))]  # fmt: skip
    (line,) = said(changed(("pool.kind", "litellm"), ("pool.agents", agents)))
    assert "two: model openai/m stands at two addresses" in line


@pytest.mark.parametrize("value", ["{seed: .nan}", "{stop: [.inf]}", "{day: 2026-11-30}", "{bias: {7: 1}}"])
def test_params_of_an_agent_are_what_json_can_say(value: str) -> None:
    text = TEXT.replace("    - name: atlas\n", f"    - {{name: atlas, params: {value}}}\n")
    (line,) = said(text)
    assert line.startswith("params.yaml: pool.agents.0.params: must be what JSON can say")


@pytest.mark.parametrize(
    "params, word",
    [
        ("{timeout: 3}", "timeout"), ("{mock_response: hello}", "mock_response"), ("{num_retries: 2}", "num_retries"),
        ("{max_completion_tokens: 9}", "max_completion_tokens"), ("{extra_body: {max_tokens: 9}}", "max_tokens"),
        ("{extra_body: {stream: true}}", "stream"),
    ],
)  # fmt: skip
def test_params_do_not_set_what_others_set(params: str, word: str) -> None:
    text = TEXT.replace("    - name: atlas\n", f"    - {{name: atlas, params: {params}}}\n")
    (line,) = said(text.replace("kind: simulated ", "kind: litellm ", 1))
    assert f"atlas: params: {word}: set by" in line


def test_minus_zero_is_zero() -> None:
    from trinity.config.values import _number

    assert str(_number(-0.0)) == "0.0"
