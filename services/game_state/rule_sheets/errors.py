"""What stops the service from starting when a rule sheet is broken."""

from __future__ import annotations


class RuleSheetError(Exception):
    """A translation that cannot be used; the text names the file and everything that is wrong in it."""

    def __init__(self, locale: str, problems: list[str]) -> None:
        super().__init__("\n".join(f"{locale}.ftl: {problem}" for problem in problems))
        self.locale = locale
        self.problems = tuple(problems)
