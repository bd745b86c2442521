/** Every language has every text, in every plural form that it has, and none is left in English. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LOCALES, type Locale, negotiate, type PluralForms, Texts } from "../../src/app/i18n.ts";
import { en } from "../../src/app/locales/en.ts";
import { parseCard, RANKS, rankOf, SUITS, suitOf } from "../../src/client/cards.ts";
import { WEB } from "../support/cluster.ts";

const others = LOCALES.filter(({ tag }) => tag !== "en");
/** Words that are the same in English and in the language named. */
const SAME: Record<string, string[]> = {
  es: ["botName"],
  nb: ["autopilot"],
  fr: ["points", "score", "replayPause", "botName"],
  ru: [],
  cs: ["autopilot"],
};

function entries(locale: Locale): [string, string | PluralForms][] {
  return Object.entries(locale.messages);
}

function texts(value: string | PluralForms): string[] {
  return typeof value === "string" ? [value] : Object.values(value);
}

function placeholders(text: string): string[] {
  return (text.match(/\{\w+\}/g) ?? []).sort();
}

test("the six languages are there", () => {
  expect(LOCALES.map(({ tag }) => tag)).toEqual(["en", "es", "nb", "fr", "ru", "cs"]);
});

test.each(LOCALES)("$tag has every key and says something for it", (locale) => {
  expect(Object.keys(locale.messages)).toEqual(Object.keys(en.messages));
  for (const [key, value] of entries(locale)) {
    for (const text of texts(value)) expect(text.trim(), key).toBe(text);
    for (const text of texts(value)) expect(text, key).not.toBe("");
  }
});

test.each(LOCALES)("$tag has exactly the plural forms of its language, each with its number", (locale) => {
  const categories = new Intl.PluralRules(locale.tag).resolvedOptions().pluralCategories.sort();
  for (const [key, value] of entries(locale)) {
    if (typeof value === "string") continue;
    expect(Object.keys(value).sort(), key).toEqual(categories);
  }
});

test.each(others)("$tag fills in what English fills in", (locale) => {
  const english = new Map(entries(en as Locale));
  for (const [key, value] of entries(locale)) {
    const wanted = placeholders(texts(english.get(key) ?? "").at(-1) ?? "");
    for (const [category, text] of typeof value === "string" ? [["", value]] : Object.entries(value)) {
      const given = placeholders(text ?? "");
      // A form that stands for one number only may write it as a word.
      const spelled = category === "one" || (category === "other" && wanted.length === 0);
      const missing = wanted.filter((name) => !given.includes(name));
      expect(
        missing.filter((name) => !(spelled && name === "{count}")),
        `${key} ${category}`,
      ).toEqual([]);
      expect(
        given.filter((name) => !wanted.includes(name)),
        `${key} ${category}`,
      ).toEqual([]);
    }
  }
});

test.each(others)("$tag leaves nothing in English", (locale) => {
  const english = new Map(entries(en as Locale));
  for (const [key, value] of entries(locale)) {
    if (SAME[locale.tag]?.includes(key)) continue;
    for (const text of texts(value)) expect(texts(english.get(key) ?? ""), key).not.toContain(text);
  }
});

test("Russian is written in Cyrillic but for the names of keys", () => {
  const ru = negotiate(["ru"]);
  for (const [key, value] of entries(ru)) {
    for (const text of texts(value)) {
      expect(text.replaceAll(/\{\w+\}|https/g, ""), key).not.toMatch(/[A-Za-z]/);
    }
  }
});

test("French puts a no-break space before its tall marks", () => {
  for (const [key, value] of entries(negotiate(["fr"]))) {
    for (const text of texts(value)) expect(text, key).not.toMatch(/[^\u00a0][:;!?]/);
  }
});

test("every text is used somewhere on the page", () => {
  const source = readdirSync(join(WEB, "src/app"), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && !name.includes("locales"))
    .map((name) => readFileSync(join(WEB, "src/app", name), "utf8"))
    .join("\n");
  for (const key of Object.keys(en.messages)) expect(source.includes(`"${key}"`), key).toBe(true);
});

test.each(LOCALES)("$tag names each of the 52 cards, and no two alike", (locale) => {
  const names = RANKS.flatMap((rank) => SUITS.map((suit) => locale.card(rank, suit)));
  expect(new Set(names).size).toBe(52);
  expect(new Set(Object.values(locale.letters)).size).toBe(13);
});

test("cards are called what players call them", () => {
  const name = (tag: string, text: string) => {
    const card = parseCard(text);
    return negotiate([tag]).card(rankOf(card), suitOf(card));
  };
  expect(name("en", "7H")).toBe("seven of hearts");
  expect(name("nb", "JS")).toBe("spar knekt");
  expect(name("cs", "KC")).toBe("křížový král");
  expect(name("cs", "QD")).toBe("kárová dáma");
  expect(name("cs", "AH")).toBe("srdcové eso");
  expect(name("ru", "TS")).toBe("десятка пик");
});

test("plural forms are chosen by the rules of the language", () => {
  const say = (tag: string, count: number) => new Texts(negotiate([tag])).n("cards", count);
  expect([1, 3, 5, 21].map((count) => say("ru", count))).toEqual(["1 карта", "3 карты", "5 карт", "21 карта"]);
  expect([1, 3, 5].map((count) => say("cs", count))).toEqual(["1 karta", "3 karty", "5 karet"]);
  expect([0, 1, 2].map((count) => say("fr", count))).toEqual(["0 carte", "1 carte", "2 cartes"]);
});

test("a language is found by what a browser asks for", () => {
  expect(negotiate(["", "es-MX"]).tag).toBe("es");
  expect(negotiate(["no"]).tag).toBe("nb");
  expect(negotiate(["nn-NO", "cs"]).tag).toBe("nb");
  expect(negotiate(["de", "fr-CA"]).tag).toBe("fr");
  expect(negotiate(["de"]).tag).toBe("en");
});
