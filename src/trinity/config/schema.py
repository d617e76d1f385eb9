"""One model per section of params.yaml. Unknown keys are refused; every value is checked where it is declared."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from trinity.config.pool import Pool
from trinity.config.tasks import Data, Grading, Sandbox
from trinity.config.values import Count, InnerShare, Name, NotNegative, Positive, Section, Seeds, Share, distinct
from trinity.types import Role


class TinyEncoder(Section):
    """Shape and seed of the demo's own Qwen3 (random weights, tokenizer fitted to the demo's questions)."""

    hidden_size: Count
    layers: Annotated[int, Field(ge=3)]
    heads: Count
    kv_heads: Count
    intermediate_size: Count
    vocabulary: Annotated[int, Field(ge=300)]
    seed: int
    init_std: Positive


class Slm(Section):
    """The encoder (spec section 3.1, 3.2)."""

    model: str
    device: Annotated[str, Field(pattern=r"^(auto|cpu|cuda(:\d+)?)$")]
    dtype: Literal["float32", "float64", "bfloat16"]
    engine: Literal["shared", "reference"]
    input: Literal["suffix"]
    read_position: Annotated[int, Field(le=-1)]
    max_tokens: Annotated[int, Field(ge=16)]
    tiny: TinyEncoder | None = None


Matrices = Literal["layer", "layer+embeddings"]


class Svf(Section):
    """Singular-value scales of the second-to-last block (spec section 0.3.1), and of the embeddings (the paper's)."""

    enabled: bool
    matrices: Matrices
    sigma_ratio: Positive


class Head(Section):
    """The decision head (spec section 3.3, 0.3.2)."""

    kind: Literal["linear"]
    features: Literal["l2", "raw", "centred"]


class Roles(Section):
    """Role prompts and what is appended of a reply (spec section 4.4, 4.5)."""

    prompts: str | None
    max_output_chars: Annotated[int, Field(ge=200)]


class EpisodeSection(Section):
    """The inner loop (spec section 4.2); `max_tokens: null` lifts the cap of a reply (full power)."""

    max_turns: Count
    roles: Annotated[list[Annotated[Role, Field(strict=False)]], Field(min_length=1)]
    max_tokens: Count | None
    temperature: NotNegative
    top_p: Share

    @model_validator(mode="after")
    def _roles_make_sense(self) -> "EpisodeSection":
        if len(set(self.roles)) != len(self.roles):
            raise ValueError("roles: each role once")
        if Role.WORKER not in self.roles:
            raise ValueError("roles: must contain worker, since only a Worker's output is graded")
        return self


class Optim(Section):
    """sep-CMA-ES (spec section 5, 0.2)."""

    sigma0: Positive
    population: Annotated[int, Field(ge=4)] | None
    m: Count
    iterations: Count
    minibatch: Literal["shared", "per_candidate"]
    common_random_numbers: bool
    active: bool
    step_size: Literal["tpa", "csa"]
    selection: Literal["sample", "argmax"]
    validate_every: Count
    seeds: Seeds


class RandomSearch(Section):
    """RS: uniform in [-half_width, half_width]^n around the start, `trials` episodes a candidate."""

    half_width: Positive
    trials: Count


class Reinforce(Section):
    """REINFORCE: batches of m * lambda episodes, gradients through the softmaxes into head and SVF scales."""

    lr: Positive
    entropy: NotNegative
    baseline_decay: Share


class Sft(Section):
    """SFT: head only, Adam, one-turn labels from training items."""

    lrs: Annotated[list[Positive], Field(min_length=1)]
    epochs: Count
    batch: Count
    label_seeds: Count


class Baselines(Section):
    """Rivals of sep-CMA-ES on the same encoder and budget of episodes."""

    methods: Annotated[list[Literal["rs", "reinforce", "sft"]], AfterValidator(distinct)]
    rs: RandomSearch
    reinforce: Reinforce
    sft: Sft


class Eval(Section):
    """How systems are compared (spec section 6)."""

    seeds: Seeds
    selection: Literal["argmax", "sample"]
    single_factor: Count


class Run(Section):
    """How work is carried out; nothing here changes a result."""

    concurrency: Count
    threads: Count
    encoder_mb: Count


class Report(Section):
    """Intervals and pictures."""

    bootstrap: Annotated[int, Field(ge=100)]
    level: InnerShare
    seed: int


class Config(Section):
    """The whole of params.yaml."""

    data: Data
    tasks: Annotated[list[Name], Field(min_length=1)]
    slm: Slm
    svf: Svf
    head: Head
    roles: Roles
    pool: Pool
    episode: EpisodeSection
    optim: Optim
    baselines: Baselines
    eval: Eval
    grading: Grading
    sandbox: Sandbox
    run: Run
    report: Report

    @property
    def agents(self) -> tuple[str, ...]:
        """Names of the agents, in the order of the head's rows."""
        return tuple(agent.name for agent in self.pool.agents)

    @property
    def simulated(self) -> bool:
        """Whether figures come from the simulated pool, and must say so."""
        return self.pool.kind == "simulated"

    @model_validator(mode="after")
    def _sections_agree(self) -> "Config":
        if len(set(self.tasks)) != len(self.tasks):
            raise ValueError("tasks: each task once")
        if (self.slm.model == "tiny-qwen3") != (self.slm.tiny is not None):
            raise ValueError("slm.tiny: given exactly when slm.model is tiny-qwen3")
        if self.grading.judge is not None and self.grading.judge not in self.agents:
            raise ValueError(f"grading.judge: no agent of pool.agents: allowed: {', '.join(self.agents)}")
        tables = [task for task in self.tasks if task in self.data.outcomes]
        if tables and self.pool.kind != "recorded":
            raise ValueError(f"tasks: {', '.join(tables)}: an outcome table needs pool.kind: recorded")
        if self.pool.kind == "simulated" and self.episode.max_tokens is None:
            raise ValueError("episode.max_tokens: the simulated pool needs a number")
        if self.pool.kind == "recorded":
            if self.episode.roles != [Role.WORKER] or self.episode.max_turns != 1:
                raise ValueError("episode: a recorded pool has one Worker turn: set max_turns: 1 and roles: [worker]")
            unknown = [task for task in self.tasks if task not in self.data.outcomes]
            if unknown:
                raise ValueError(f"data.outcomes: no table for task {', '.join(unknown)}")
        return self
