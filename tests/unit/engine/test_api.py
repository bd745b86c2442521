import inspect

import rami_engine
from rami_engine import errors


def test_everything_public_is_named_once_and_is_there() -> None:
    assert list(rami_engine.__all__) == sorted(set(rami_engine.__all__), key=rami_engine.__all__.index)
    assert all(hasattr(rami_engine, name) for name in rami_engine.__all__)


def test_every_error_of_the_engine_is_a_rules_error_and_stands_in_the_tree() -> None:
    assert errors.__doc__ is not None
    for name, found in inspect.getmembers(errors, inspect.isclass):
        if issubclass(found, Exception):
            assert issubclass(found, errors.RulesError)
            assert issubclass(found, ValueError)
            assert f"{name} " in errors.__doc__
            assert name in rami_engine.__all__


def test_the_reasons_stand_in_the_order_of_the_rules() -> None:
    assert [reason.value for reason in rami_engine.Reason] == [
        "MATCH_NOT_STARTED",
        "MATCH_OVER",
        "NOT_YOUR_TURN",
        "WRONG_PHASE",
        "CARD_NOT_IN_HAND",
        "MELD_NOT_FOUND",
        "INVALID_MELD",
        "INVALID_LAY_OFF",
        "MUST_KEEP_DISCARD",
    ]
