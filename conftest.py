"""Loads the plug-in; nothing else."""

pytest_plugins = ["logitsbuf.plugin"]
