"""Starting points for params.yaml, and writing one into place."""

import difflib
from importlib.resources import files
from pathlib import Path

from trinity.config import parse_config
from trinity.config.load import PARAMS

PRESETS = ("demo", "recorded", "local", "openrouter")
KEPT = Path(".trinity/params.before.yaml")


def preset_text(name: str) -> str:
    """The text of a preset."""
    return files("trinity.presets").joinpath(f"{name}.yaml").read_text(encoding="utf-8")


def difference(name: str) -> str:
    """What a preset would change in params.yaml, as a unified diff; empty if nothing."""
    before = PARAMS.read_text(encoding="utf-8", errors="replace") if PARAMS.exists() else ""
    lines = difflib.unified_diff(
        before.splitlines(), preset_text(name).splitlines(), str(PARAMS), f"preset {name}", lineterm="", n=1
    )
    return "\n".join(lines)


def write_preset(name: str) -> None:
    """Writes a preset into params.yaml; what stood there is kept in .trinity/params.before.yaml.

    A file that is a preset word for word is not kept: it would push out an edited one.
    """
    text = preset_text(name)
    parse_config(text, f"preset {name}")
    if PARAMS.exists() and PARAMS.read_bytes() not in [preset_text(preset).encode() for preset in PRESETS]:
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_bytes(PARAMS.read_bytes())
    PARAMS.write_text(text, encoding="utf-8")
