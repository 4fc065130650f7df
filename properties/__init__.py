"""The suite: one module per surface, one short property per scenario.

A property names the scenario that it proves; the scenario itself, its sweep and its strategy live
in ``logitsbuf``. What the properties hold an implementation to is written in ``README.md`` here.
"""
