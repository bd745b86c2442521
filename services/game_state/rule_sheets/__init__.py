"""The rules as text for players, in several languages.

One Fluent file a language in `locales`; `layout` names its texts, `figures` the numbers and cards that come
from the engine, `catalog` loads and checks, `negotiation` picks a language, and `sheets` renders. To add a
language: add its file and its locale to LOCALES.
"""

from game_state.rule_sheets.errors import RuleSheetError
from game_state.rule_sheets.layout import DEFAULT_LOCALE, LOCALES
from game_state.rule_sheets.negotiation import is_well_formed, negotiate
from game_state.rule_sheets.sheets import RuleSheets

__all__ = [
    "DEFAULT_LOCALE",
    "LOCALES",
    "RuleSheetError",
    "RuleSheets",
    "is_well_formed",
    "negotiate",
]
