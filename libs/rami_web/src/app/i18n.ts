/** Texts: which languages there are, which one is in use, and filling in names, numbers and plural forms. */
import type { Rank, Suit } from "../client/cards.ts";
import { cs } from "./locales/cs.ts";
import { en } from "./locales/en.ts";
import { es } from "./locales/es.ts";
import { fr } from "./locales/fr.ts";
import { nb } from "./locales/nb.ts";
import { ru } from "./locales/ru.ts";

/** One text for each plural category that a language has, as Intl.PluralRules names them; {count} is the number. */
export type PluralForms = { [Category in Intl.LDMLPluralRule]?: string } & { other: string };

type Source = typeof en.messages;
export type TextKey = { [Key in keyof Source]: Source[Key] extends string ? Key : never }[keyof Source];
export type PluralKey = Exclude<keyof Source, TextKey>;
export type Messages = Record<TextKey, string> & Record<PluralKey, PluralForms>;

export interface Locale {
  /** Its BCP 47 tag. */
  tag: string;
  /** Its own name for itself. */
  name: string;
  /** What stands in the corner of a card. */
  letters: Record<Rank, string>;
  /** The name of a card as a person says it. */
  card(rank: Rank, suit: Suit): string;
  messages: Messages;
}

export const LOCALES: readonly Locale[] = [en, es, nb, fr, ru, cs];

/** The locale that fits a list of wishes best, in the order of the wishes; English where none does. */
export function negotiate(wishes: readonly string[]): Locale {
  for (const wish of wishes) {
    const base = wish.toLowerCase().split("-")[0] ?? "";
    const language = base === "no" || base === "nn" ? "nb" : base;
    const found = LOCALES.find(({ tag }) => tag === language);
    if (found) return found;
  }
  return en;
}

export type Parameters = Readonly<Record<string, string | number>>;

function filled(text: string, parameters: Parameters): string {
  return text.replace(/\{(\w+)\}/g, (whole, name) => String(parameters[name] ?? whole));
}

/** The texts of one language. */
export class Texts {
  private readonly rules: Intl.PluralRules;
  private readonly numbers: Intl.NumberFormat;

  constructor(readonly locale: Locale) {
    this.rules = new Intl.PluralRules(locale.tag);
    this.numbers = new Intl.NumberFormat(locale.tag);
  }

  /** A text with its parameters filled in. */
  t(key: TextKey, parameters: Parameters = {}): string {
    return filled(this.locale.messages[key], parameters);
  }

  /** A text about a number of something, in the right plural form. */
  n(key: PluralKey, count: number, parameters: Parameters = {}): string {
    const forms = this.locale.messages[key];
    return filled(forms[this.rules.select(count)] ?? forms.other, { ...parameters, count: this.numbers.format(count) });
  }

  /** "20 s" as the language writes it. */
  seconds(count: number): string {
    return new Intl.NumberFormat(this.locale.tag, { style: "unit", unit: "second", unitDisplay: "short" }).format(
      count,
    );
  }

  number(value: number): string {
    return this.numbers.format(value);
  }

  time(at: number): string {
    return new Intl.DateTimeFormat(this.locale.tag, { dateStyle: "medium", timeStyle: "short" }).format(at);
  }

  list(items: readonly string[]): string {
    return new Intl.ListFormat(this.locale.tag, { type: "unit", style: "narrow" }).format(items);
  }
}
