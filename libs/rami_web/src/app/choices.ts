/** What a selection of cards can do: read off the server's list of legal actions, and nothing else. */

import { type Card, sameCards } from "../client/cards.ts";
import { actionCards } from "../client/rules.ts";
import type { Action } from "../gen/rami/game/v1/action_pb.ts";

export interface Choices {
  drawStock: Action | undefined;
  drawDiscard: Action | undefined;
  meld: Action | undefined;
  /** By number of the meld. */
  layOffs: Map<number, Action>;
  discard: Action | undefined;
}

export function choicesFor(legal: readonly Action[], selection: readonly Card[]): Choices {
  const choices: Choices = {
    drawStock: undefined,
    drawDiscard: undefined,
    meld: undefined,
    layOffs: new Map(),
    discard: undefined,
  };
  for (const action of legal) {
    const { kind } = action;
    if (kind.case === "drawStock" || kind.case === "drawDiscard") choices[kind.case] = action;
    else if (!sameCards(actionCards(action), selection)) continue;
    else if (kind.case === "layOff") choices.layOffs.set(kind.value.meld, action);
    else if (kind.case === "meld" || kind.case === "discard") choices[kind.case] = action;
  }
  return choices;
}

/** The melds and lay-offs worth showing: none that is only a part of another one of its kind. */
export function hintsFrom(legal: readonly Action[]): Action[] {
  const laid = legal.filter(({ kind }) => kind.case === "meld" || kind.case === "layOff");
  const target = ({ kind }: Action) => (kind.case === "layOff" ? kind.value.meld : 0);
  return laid.filter((action) => {
    const cards = actionCards(action);
    return !laid.some((other) => {
      const more = actionCards(other);
      return target(other) === target(action) && more.length > cards.length && cards.every((c) => more.includes(c));
    });
  });
}

/** Every card that some meld or lay-off uses. */
export function usefulCards(legal: readonly Action[]): ReadonlySet<Card> {
  return new Set(legal.flatMap((action) => (action.kind.case === "discard" ? [] : actionCards(action))));
}
