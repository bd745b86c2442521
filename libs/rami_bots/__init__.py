"""The bots of Rami: Easy, Normal and Hard, each a pure function of what its seat sees.

    find_bot("hard").policy(view, legal_actions, policy_seed, time_enough)  ->  one of the legal actions
    decide(find_bot("hard"), view, legal_actions, policy_seed, time_enough, explain=True)  ->  with its reasons

Standard library and engine only; no clock, no input or output, no randomness but the seed that is given. To measure
bots against each other there is `rami_bots.arena`.
"""

from rami_bots.bots import BOTS, Bot, UnknownBot, find_bot
from rami_bots.decisions import Decision, decide
from rami_bots.policy import Considered, OutOfTime, Policy, time_enough

__all__ = [
    "BOTS",
    "Bot",
    "Considered",
    "Decision",
    "OutOfTime",
    "Policy",
    "UnknownBot",
    "decide",
    "find_bot",
    "time_enough",
]
