"""Malformed messages are refused by name of the field, as the rules ask."""

from __future__ import annotations

import pytest

from rami.cards.v1 import card_pb2
from rami.game.v1 import action_pb2, rules_pb2, view_pb2
from rami_engine import Guards, MalformedAction, OptionsError, RuleOptions, new_match, seat_view
from rami_wire import action_from_proto, options_from_proto, to_mask, view_from_proto, view_to_proto


def action(**kind: object) -> action_pb2.Action:
    return action_pb2.Action(**kind)  # type: ignore[arg-type]  # one kind by name


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (action(), "action"),
        (action(discard=action_pb2.Discard()), "action.discard.card"),
        (action(discard=action_pb2.Discard(card=card_pb2.Card.ValueType(53))), "action.discard.card"),
        (action(meld=action_pb2.LayMeld()), "action.meld.cards"),
        (action(meld=action_pb2.LayMeld(cards=[card_pb2.CARD_UNSPECIFIED])), "action.meld.cards"),
        (action(meld=action_pb2.LayMeld(cards=[card_pb2.CARD_2C, card_pb2.CARD_2C])), "action.meld.cards"),
        (action(lay_off=action_pb2.LayOff(meld=1)), "action.lay_off.cards"),
    ],
)
def test_malformed_actions_name_their_field(message: action_pb2.Action, field: str) -> None:
    with pytest.raises(MalformedAction) as caught:
        action_from_proto(message)
    assert caught.value.field == field


def test_a_lay_off_on_meld_zero_is_well_formed() -> None:
    message = action(lay_off=action_pb2.LayOff(cards=[card_pb2.CARD_2C]))
    assert action_from_proto(message).meld == 0


@pytest.mark.parametrize("target", [0, 1001])
def test_a_target_out_of_range_is_named(target: int) -> None:
    with pytest.raises(OptionsError) as caught:
        options_from_proto(rules_pb2.RuleOptions(target_score=target), "options.rules")
    assert caught.value.field == "options.rules.target_score"


def test_masks_take_cards_in_any_order() -> None:
    assert to_mask([3, 1], "cards") == 0b101


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"players": 5}, "view.players"),
        ({"scores": [1]}, "view.players"),
        ({"phase": 99}, "phase"),
        ({"phase": rules_pb2.PHASE_DRAW}, "view.round_number"),
        ({"seat": 2}, "view.seat"),
        ({"hand": [7, 7]}, "view.hand"),
        ({"discards": [60]}, "view.discards"),
        ({"melds": [rules_pb2.TableMeld(number=1, cards=[card_pb2.CARD_2C])]}, "view.melds.cards"),
        ({"traces": [view_pb2.CardTrace(card=card_pb2.CARD_2C, taken_by=3)]}, "view.traces.taken_by"),
    ],
)
def test_views_out_of_range_name_their_field(change: dict[str, object], field: str) -> None:
    message = view_to_proto(seat_view(new_match(2, RuleOptions(), Guards()), 0))
    message.MergeFrom(view_pb2.SeatView(**change))  # type: ignore[arg-type]  # fields by name
    with pytest.raises((MalformedAction, OptionsError)) as caught:
        view_from_proto(message)
    assert isinstance(caught.value, MalformedAction | OptionsError)
    assert caught.value.field == field
