/** What every part of the page needs: the texts, the player, the way to say something. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { type Card, rankOf, suitOf } from "../client/cards.ts";
import type { RuleOptions } from "../client/index.ts";
import type { Texts } from "./i18n.ts";
import type { Session } from "./session.ts";

export interface Page {
  texts: Texts;
  session: Session;
  /** Lets a screen reader say something. */
  announce(text: string): void;
  /** Shows what went wrong; screen readers hear it at once. */
  complain(error: unknown): void;
  /** Does something that leads to a path; who has gone elsewhere meanwhile is not taken there. */
  lead(work: () => Promise<string | undefined>): Promise<void>;
  /** What the rules dialog fills its numbers from: the options of the room in sight, if any. */
  ruleOptions: { current: RuleOptions | undefined };
}

export const PageContext = createContext<Page | undefined>(undefined);

export function usePage(): Page {
  const page = useContext(PageContext);
  if (!page) throw new Error("used outside the page");
  return page;
}

export function useTexts(): Texts {
  return usePage().texts;
}

/** The name of a card in the language of the page. */
export function cardName(texts: Texts, card: Card): string {
  return texts.locale.card(rankOf(card), suitOf(card));
}

export function cardNames(texts: Texts, cards: readonly Card[]): string {
  return cards.map((card) => cardName(texts, card)).join(", ");
}
