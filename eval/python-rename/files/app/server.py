"""The address that the settings name."""

from app.config import load_cfg as read


def address(text):
    """Return host and port; the usual ones where the settings have none."""
    found = read(text)
    return found.get("host", "localhost"), int(found.get("port", "80"))
