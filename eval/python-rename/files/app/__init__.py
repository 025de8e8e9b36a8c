"""A small program."""

from app.config import load_cfg

__all__ = ["load_cfg"]
