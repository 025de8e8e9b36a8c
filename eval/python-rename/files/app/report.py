"""A report on settings."""

from app import config


def report(text):
    """Return one line for each setting, in the order of names."""
    loaded = config.load_cfg(text)
    return [f"{name}: {loaded[name]}" for name in sorted(loaded)]
