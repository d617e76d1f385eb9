"""Role prompts: what an agent is told in each role (spec section 4.4)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import yaml

from trinity.config.load import yaml_problem
from trinity.errors import ConfigError
from trinity.types import Message, Role, Transcript

EMPTY_HISTORY = "(nothing yet)"
_PLACEHOLDER = re.compile(r"\{(Q|C_prev)\}")


@dataclass(frozen=True)
class RolePrompts:
    """One template a role, with the placeholders {Q} and {C_prev}."""

    templates: Mapping[Role, str]

    def messages(self, role: Role, transcript: Transcript) -> tuple[Message, ...]:
        """The chat messages that ask an agent for its turn in a role.

        Braces in the question or the history are text: only the template's own two placeholders are filled.
        """
        values = {"Q": transcript.question, "C_prev": transcript.history or EMPTY_HISTORY}
        content = _PLACEHOLDER.sub(lambda match: values[match.group(1)], self.templates[role])
        return (Message("user", content.strip()),)


def load_prompts(path: str | None) -> RolePrompts:
    """Reads the package's prompts, or a user's own file of the same form.

    Raises:
        ConfigError: the file is absent or no YAML, a role or a placeholder is missing, or the verifier's template
            does not ask for the verdict line.
    """
    name = path or "the package's prompts.yaml"
    try:
        source = Path(path) if path else files("trinity.roles").joinpath("prompts.yaml")
        text = source.read_text("utf-8")
        raw = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"params.yaml: roles.prompts: {name}: cannot be read: {error}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"params.yaml: roles.prompts: {name}: {yaml_problem(error)}") from None
    roles = [role.value for role in Role]
    if not isinstance(raw, dict) or set(raw) != set(roles):
        raise ConfigError(f"params.yaml: roles.prompts: {name}: must hold exactly the keys {', '.join(roles)}")
    for role, template in raw.items():
        for placeholder in ("{Q}", "{C_prev}"):
            if not isinstance(template, str) or placeholder not in template:
                raise ConfigError(f"params.yaml: roles.prompts: {name}: {role}: the text lacks {placeholder}")
    for line in ("VERDICT: ACCEPT", "VERDICT: REVISE"):
        if line not in raw["verifier"]:
            raise ConfigError(f"params.yaml: roles.prompts: {name}: verifier: the text lacks the line {line}")
    return RolePrompts({Role(role): template for role, template in raw.items()})
