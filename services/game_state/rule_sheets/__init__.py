"""The rules as text for players, in several languages.

One Fluent file a language in `locales`; `layout` names its texts, `figures` the numbers and cards that come
from the engine, `catalog` loads and checks, `negotiation` picks a language, and `sheets` renders. To add a
language: add its file and its locale to `rami_kit.languages`.
"""

from game_state.rule_sheets.errors import RuleSheetError
from game_state.rule_sheets.negotiation import negotiate
from game_state.rule_sheets.sheets import RuleSheets

__all__ = [
    "RuleSheetError",
    "RuleSheets",
    "negotiate",
]
