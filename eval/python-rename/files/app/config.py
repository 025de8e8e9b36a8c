"""Settings as lines of NAME=VALUE."""


def load_cfg(text):
    """Return the settings of a text; empty lines and lines that begin with # do not count."""
    settings = {}
    for line in text.splitlines():
        line = line.strip()
        if line and not line.startswith("#"):
            name, _, value = line.partition("=")
            settings[name.strip()] = value.strip()
    return settings
