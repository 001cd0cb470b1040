"""python/torch/hoop_torch/_autoload.py - what torch calls when it is imported"""

from __future__ import annotations


def autoload() -> None:
    """Do nothing: importing the package has registered the backend, or does so while it imports torch."""
