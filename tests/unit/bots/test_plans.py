"""Plans lay as much as can be laid, and find the way out when there is one."""

import random

from rami_bots.plans import best_plan, lay_off_plan, way_out
from rami_engine import (
    DECK_MELDS,
    FULL_DECK,
    ActionKind,
    Mask,
    RuleOptions,
    cards_of,
    format_action,
    legal_plays,
    mask_of,
    mask_points,
)
from unit.bots.asking import DISCARD_TO_WIN
from unit.engine.positions import mask

DEFAULT = RuleOptions()
Table = tuple[Mask, ...]


def after(hand: Mask, table: Table, kind: ActionKind, cards: Mask, number: int) -> tuple[Mask, Table]:
    if kind == ActionKind.MELD:
        return hand ^ cards, (*table, cards)
    return hand ^ cards, (*table[: number - 1], table[number - 1] | cards, *table[number:])


def all_rests(hand: Mask, table: Table) -> set[Mask]:
    """What any sequence of melds and lay-offs can leave of a hand."""
    seen = {(hand, table)}
    queue = [(hand, table)]
    while queue:
        left, melds = queue.pop()
        for kind, cards, number in legal_plays(left, melds, discard_to_win=False):
            if kind != ActionKind.DISCARD and (step := after(left, melds, kind, cards, number)) not in seen:
                seen.add(step)
                queue.append(step)
    return {left for left, _ in seen}


def random_positions(count: int) -> list[tuple[Mask, Table]]:
    rng = random.Random(7)
    positions: list[tuple[Mask, Table]] = []
    for _ in range(count):
        free = FULL_DECK
        table: Table = ()
        for _ in range(rng.randint(0, 4)):
            short_melds = [meld for meld in DECK_MELDS if meld & free == meld and meld.bit_count() <= 4]
            table = (*table, rng.choice(short_melds))
            free &= ~table[-1]
        positions.append((mask_of(rng.sample(cards_of(free), rng.randint(1, 8))), table))
    return positions


def test_the_best_plan_leaves_the_fewest_points_and_can_be_played() -> None:
    for hand, table in random_positions(400):
        plan = best_plan(hand, table, ace_high=False)
        assert plan.points == min(mask_points(left, False) for left in all_rests(hand, table))
        left, melds = hand, table
        for lay in plan.lays:
            assert lay in legal_plays(left, melds, discard_to_win=False)
            left, melds = after(left, melds, *lay)
        assert left == plan.left


def test_a_way_out_is_found_exactly_when_there_is_one() -> None:
    found = 0
    for hand, table in random_positions(400):
        plan = way_out(hand, table, DEFAULT)
        assert (plan is not None) == any(left.bit_count() <= 1 for left in all_rests(hand, table))
        with_discard = way_out(hand, table, DISCARD_TO_WIN)
        assert (with_discard is not None) == any(left.bit_count() == 1 for left in all_rests(hand, table))
        found += plan is not None
    assert found > 10


def test_a_card_that_two_melds_want_goes_where_it_helps_most() -> None:
    # Laid off on the eights, the 8H would leave the 9H behind.
    plan = best_plan(mask("8H 9H"), (mask("8C 8D 8S"), mask("5H 6H 7H")), ace_high=False)
    assert [format_action(lay) for lay in plan.lays] == ["lay-off 2 8H 9H"]
    assert plan.left == 0


def test_a_card_is_kept_from_the_table_for_a_meld_of_the_hand() -> None:
    plan = best_plan(mask("8H 9H TH"), (mask("8C 8D 8S"),), ace_high=False)
    assert [format_action(lay) for lay in plan.lays] == ["meld 8H 9H TH"]


def test_only_lay_offs_are_planned_while_melds_are_held_back() -> None:
    plan = lay_off_plan(mask("2C 3C 4C KD 9S"), (mask("TD JD QD"),), ace_high=False)
    assert [format_action(lay) for lay in plan.lays] == ["lay-off 1 KD"]
    assert plan.left == mask("2C 3C 4C 9S")
    assert plan.points == 18


def test_the_way_out_may_keep_a_dear_card_to_discard() -> None:
    plan = way_out(mask("2C 3C 4C KD"), (), DEFAULT)
    assert plan is not None
    assert plan.left == mask("KD")


def test_with_discard_to_win_the_way_out_spares_a_card_of_a_long_run() -> None:
    plan = way_out(mask("2C 3C 4C 5C"), (), DISCARD_TO_WIN)
    assert plan is not None
    assert plan.left.bit_count() == 1
    assert way_out(mask("2C 3C 4C"), (), DISCARD_TO_WIN) is None
    assert way_out(mask("2C 3C 4C"), (), DEFAULT) is not None
