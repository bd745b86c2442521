/** Headless Chromium, and hands that play at the table of a page as a person does. */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import { ROOT, WEB } from "./cluster.ts";

export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
export const PICTURES = join(ROOT, "build/web");
export const DIST = join(WEB, "dist");
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** Pictures are for people: where nobody looks none are made, because drawing them takes long. */
const LOOKED_AT = !process.env.CI;
/** How long anything at all may take; nothing here asserts on speed. */
export const PATIENCE_MS = 60_000;

export const PHONE = { width: 390, height: 844 };
export const DESK = { width: 1440, height: 900 };

export async function launch(): Promise<Browser> {
  if (!existsSync(join(DIST, "index.html"))) throw new Error("no build in dist: run npm run build first");
  mkdirSync(PICTURES, { recursive: true });
  return chromium.launch({
    executablePath: CHROMIUM,
    timeout: PATIENCE_MS,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
}

export interface Looks {
  size?: { width: number; height: number };
  locale?: string;
  dark?: boolean;
}

/** A page of a browser of its own, as if nobody had used it before. Script errors fail the test. */
export async function openPage(browser: Browser, url: string, looks: Looks = {}): Promise<Page> {
  const context: BrowserContext = await browser.newContext({
    viewport: looks.size ?? DESK,
    locale: looks.locale ?? "en-GB",
    colorScheme: looks.dark ? "dark" : "light",
    reducedMotion: "reduce",
    permissions: ["clipboard-read", "clipboard-write"],
    ...(looks.size === PHONE && { hasTouch: true, isMobile: true, deviceScaleFactor: 2 }),
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  page.on("pageerror", (error) => expect.fail(`a script failed: ${error.stack}`));
  await page.goto(url);
  return page;
}

export async function picture(page: Page, name: string, fullPage = false): Promise<void> {
  if (!LOOKED_AT) return;
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage });
}

/** Nothing sticks out of the window sideways. */
export async function checkWidth(page: Page): Promise<void> {
  const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const);
  expect(wide).toBeLessThanOrEqual(window);
}

/** No rule of axe is broken, and nothing sticks out of the window sideways. */
export async function checkPage(page: Page): Promise<void> {
  await page.evaluate(AXE);
  const broken = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(
          options: object,
        ): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>;
      };
    };
    const { violations } = await axe.run({
      // The visible text of a card is the letter in its corner; its name says more.
      rules: { "label-content-name-mismatch": { enabled: false } },
    });
    return violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(" | ")}`,
    );
  });
  expect(broken).toEqual([]);
  await checkWidth(page);
}

export interface Seen {
  version: string;
  over: boolean;
  canDraw: boolean;
  hints: number;
  hand: number;
  playing: boolean;
}

/** Where the table stands, by what the page shows. */
export async function look(page: Page): Promise<Seen> {
  return page.evaluate(() => {
    const table = document.querySelector<HTMLElement>("[data-testid=table]");
    return {
      version: table?.dataset.version ?? "",
      over: document.querySelector("[data-testid=end]") !== null,
      canDraw: document.querySelector(".pile.stock.legal") !== null,
      hints: document.querySelectorAll(".hint").length,
      hand: document.querySelectorAll(".hand button").length,
      playing: document.querySelector(".hint-text") !== null,
    };
  });
}

/** Waits until the table has moved on from a version. */
export async function moved(page: Page, version: string): Promise<void> {
  await page.waitForFunction(
    (before) => document.querySelector<HTMLElement>("[data-testid=table]")?.dataset.version !== before,
    version,
    { polling: 50 }, // by default it has the page drawn anew sixty times a second
  );
}

/** Waits until the player has something to do, or the match is over. */
export async function myTurn(page: Page): Promise<Seen> {
  await page.locator(".pile.stock.legal, .my-turn .hint-text, [data-testid=end]").first().waitFor();
  return look(page);
}

/** Does one thing of a turn by pointer: draws, lays what is hinted at, or discards the last card. */
export async function act(page: Page): Promise<boolean> {
  const seen = await myTurn(page);
  if (seen.over) return false;
  if (seen.canDraw) await page.locator(".pile.stock").click();
  else if (seen.hints > 0) {
    await page.locator(".hint").first().click();
    // Whichever comes: one of them does, once the page shows what was chosen.
    await page.locator(".meld .lay, button[aria-keyshortcuts=M][aria-disabled=false]").first().click();
  } else {
    await page.locator(".hand button").last().click();
    await page.locator("button[aria-keyshortcuts=D]").click();
  }
  await moved(page, seen.version);
  return true;
}
