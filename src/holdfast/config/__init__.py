"""Configuration: `holdfast.toml` and the environment, read once and checked before anything starts."""
