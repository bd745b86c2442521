"""What a worker makes of a request: the policy's choice, or the field that is wrong."""

import pytest

from ai_decision.deciding import decide
from ai_decision.frames import Chosen, Invalid
from ai_decision.warming import sample_request, warm_up
from rami_bots import BOTS, Bot, find_bot, time_enough
from rami_bots import decide as bots_decide
from rami_engine import (
    ActionKind,
    MatchState,
    Phase,
    cards_of,
    format_card,
    legal_actions,
    legal_actions_for,
    seat_view,
)
from rami_wire import encode_varint_field
from unit.ai.requests import request_for, some_turn
from unit.ai.wrong_requests import SPOILED, Spoiled
from unit.engine.positions import round_of


@pytest.mark.parametrize("bot", [bot.id for bot in BOTS])
@pytest.mark.parametrize("phase", [Phase.DRAW, Phase.PLAY])
@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_answer_is_what_the_policy_chooses_from_the_view(bot: str, phase: Phase, players: int) -> None:
    match = some_turn(players, players=players, phase=phase)
    seat = round_of(match).turn
    legal = legal_actions(match, seat)
    expected = find_bot(bot).policy(seat_view(match, seat), legal, 77, time_enough)
    answer = decide(request_for(match, bot, 77).SerializeToString(), time_enough)
    assert answer == Chosen(legal.index(expected))


@pytest.mark.parametrize("bot", BOTS, ids=lambda bot: bot.id)
def test_asked_why_it_tells_what_was_considered_by_places_in_the_request(bot: Bot) -> None:
    match = some_turn(2)
    view = seat_view(match, round_of(match).turn)
    request = request_for(match, bot.id, 77)
    silent = decide(request.SerializeToString(), time_enough)
    request.explain = True
    told = decide(request.SerializeToString(), time_enough)
    assert isinstance(silent, Chosen)
    assert isinstance(told, Chosen)
    assert (silent.weighed, told.place) == ((), silent.place)
    legal = legal_actions_for(view)
    expected = bots_decide(bot, view, legal, 77, time_enough, explain=True).considered
    assert [(legal[one.place], one.points, one.deals) for one in told.weighed] == list(expected)
    assert told.place in [one.place for one in told.weighed]


@pytest.mark.parametrize("spoiled", SPOILED, ids=str)
def test_a_request_that_is_wrong_in_one_place_is_refused_and_the_field_named(spoiled: Spoiled) -> None:
    request = request_for(some_turn(), "easy")
    spoiled.spoil(request)
    answer = decide(request.SerializeToString(), time_enough)
    assert isinstance(answer, Invalid)
    assert answer.field == spoiled.field.format(last=len(request.legal_actions) - 1)
    assert answer.description


def test_actions_may_have_fields_of_a_later_version_and_cards_in_any_order() -> None:
    match = next(match for match in map(some_turn, range(100)) if _can_meld(match))
    request = request_for(match, "easy")
    plain = decide(request.SerializeToString(), time_enough)
    meld = next(action.meld for action in request.legal_actions if action.HasField("meld"))
    meld.cards[:] = list(reversed(meld.cards))
    request.legal_actions[-1].MergeFromString(encode_varint_field(99, 1))
    assert isinstance(plain, Chosen)
    assert decide(request.SerializeToString(), time_enough) == plain


def _can_meld(match: MatchState) -> bool:
    return any(action.kind is ActionKind.MELD for action in legal_actions(match, round_of(match).turn))


def test_no_description_names_a_card() -> None:
    for spoiled in SPOILED:
        request = request_for(some_turn(), "easy")
        spoiled.spoil(request)
        answer = decide(request.SerializeToString(), time_enough)
        assert isinstance(answer, Invalid)
        assert not any(format_card(card) in answer.description for card in range(52))


def test_a_draw_without_a_discard_pile_is_refused() -> None:
    request = request_for(some_turn(phase=Phase.DRAW), "easy")
    request.view.stock_size += len(request.view.discards)
    del request.view.discards[:]
    assert decide(request.SerializeToString(), time_enough) == Invalid(
        "view.discards", "must hold a card when a seat is to draw"
    )


def test_states_that_differ_in_hidden_cards_alone_give_the_same_request() -> None:
    match = some_turn()
    other = match.copy()
    current = round_of(other)
    rival = 1 - current.turn
    history = current.history
    hidden = next(card for card in cards_of(current.hands[rival]) if history.trace(card).taken_by != rival)
    top = current.deck[current.stock_pos]
    current.hands[rival] ^= 1 << hidden | 1 << top
    current.deck = current.deck[: current.stock_pos] + bytes(
        [hidden if card == top else card for card in reversed(current.deck[current.stock_pos :])]
    )
    assert current.hands != round_of(match).hands
    assert request_for(other, "hard").SerializeToString() == request_for(match, "hard").SerializeToString()


def test_the_sample_that_warms_a_worker_is_one_that_every_bot_decides() -> None:
    warm_up()
    for bot in BOTS:
        assert isinstance(decide(sample_request(bot.id).SerializeToString(), time_enough), Chosen)
