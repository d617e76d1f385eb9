"""params.yaml as typed, validated, frozen configuration."""

from trinity.config.load import load_config, parse_config
from trinity.config.schema import Config

__all__ = ["Config", "load_config", "parse_config"]
