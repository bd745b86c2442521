/** The table in a real browser, played as people play it. Pictures of it go to build/web. */
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RamiClient } from "../../src/client/index.ts";
import {
  act,
  checkPage,
  checkWidth,
  DESK,
  DIST,
  launch,
  look,
  moved,
  myTurn,
  openPage,
  PHONE,
  picture,
} from "../support/browser.ts";
import { Cluster, showLogsOfFailures } from "../support/cluster.ts";

let browser: Browser;
let cluster: Cluster;
let home: string;

beforeAll(async () => {
  // Guards of so few turns keep every match short; nothing else of the rules changes.
  const settings = {
    RAMI_EDGE_STATIC_FOLDER: DIST,
    RAMI_MAX_TURNS_PER_ROUND: "16",
    RAMI_MAX_TURNS_PER_MATCH: "20",
  };
  [cluster, browser] = await Promise.all([Cluster.start(["--edge", "--game-replicas", "1"], settings), launch()]);
  home = `http://${cluster.addresses.edge}/`;
});
afterAll(async () => {
  await browser?.close();
  await cluster?.stop();
});
showLogsOfFailures(() => cluster);

async function dealAgainstBot(page: Page, name: string): Promise<void> {
  await page.getByLabel("Your name at the table").fill(name);
  await page.getByRole("radio", { name: "1", exact: true }).check();
  await page.getByRole("radio", { name: "Easy" }).check();
  await page.getByRole("button", { name: "Deal the cards" }).click();
  await myTurn(page);
}

/** A client that calls as the guest of a page. */
async function guestOf(page: Page): Promise<RamiClient> {
  const guest = await page.waitForFunction(() => {
    const key = Object.keys(localStorage).find((name) => name.startsWith("rami.guest"));
    return key && JSON.parse(localStorage.getItem(key) ?? "null");
  });
  const { token, playerId } = await guest.jsonValue();
  return new RamiClient({ transport: createGrpcWebTransport({ baseUrl: home }), token, playerId });
}

for (const [name, size, dark] of [
  ["phone", PHONE, false],
  ["desk", DESK, true],
] as const) {
  test(`a match to its end, its check and its replay, ${size.width} px wide`, async () => {
    const page = await openPage(browser, home, { size, dark });
    await page.getByText("No table is waiting for players right now.").waitFor();
    await checkPage(page);
    await picture(page, `home-${name}`, true);
    await dealAgainstBot(page, "Ada");
    await picture(page, `draw-${name}`);
    await checkWidth(page);
    let actions = 0;
    let hinted = false;
    while (await act(page)) {
      actions++;
      const seen = await look(page);
      if (seen.hints > 0 && !hinted) {
        hinted = true;
        await page.locator(".hint").first().click();
        await expect.poll(() => page.locator(".hand [aria-pressed=true]").count()).toBeGreaterThan(0);
        await picture(page, `hint-${name}`);
        await checkPage(page);
      }
      if (actions === 14) await picture(page, `play-${name}`);
      if (actions > 4 && (await page.locator(".summary").count()) > 0) await picture(page, `round-${name}`);
    }
    expect(actions).toBeGreaterThan(3);
    await page.getByRole("table", { name: "Final standings" }).waitFor();
    await page.reload();
    await page.locator(".summary").getByText("Ada", { exact: true }).waitFor();
    await page.getByRole("table", { name: "Final standings" }).waitFor();
    await page.getByRole("button", { name: "Check the shuffle" }).click();
    await page.getByText("Everything is as it was promised.").first().waitFor();
    await page.getByText("The fingerprint is the one shown before the match").waitFor();
    await page.getByText("The chance that this browser added went into it").waitFor();
    await picture(page, `end-${name}`, true);
    await checkPage(page);

    await page.getByTestId("end").getByRole("link", { name: "Replay" }).click();
    const told = page.getByTestId("step-text");
    await told.getByText("The cards are dealt").waitFor();
    await page.getByRole("button", { name: "Step on" }).click();
    await told.getByText("Ada draws from the stock: ").waitFor();
    await page.getByRole("button", { name: "Last step" }).click();
    await told.getByText("wins the round").waitFor();
    await page.getByRole("button", { name: "Step back" }).click();
    await picture(page, `replay-${name}`, true);
    await checkPage(page);
    await page.context().close();
  });
}

test("two browsers at one table: invited by code, one leaves, autopilot plays, and is relieved; a third one watches", async () => {
  const ada = await openPage(browser, home, { size: DESK });
  await ada.getByLabel("Your name at the table").fill("Ada");
  const own = ada.getByRole("region", { name: "A table of your own" });
  await own.getByRole("radio", { name: "2", exact: true }).check();
  await own.getByRole("button", { name: "Open a table" }).click();
  const code = (await ada.locator("output.code").textContent()) ?? "";
  await ada.getByText("One more player is needed.").waitFor();
  await picture(ada, "lobby-desk");
  await checkPage(ada);

  const emmy = await openPage(browser, `${home}#/join/${code.toLowerCase()}`, { size: PHONE });
  const found = emmy.getByTestId("found");
  await found.getByText("Ada", { exact: true }).waitFor();
  await found.getByText("1 free seat").waitFor();
  await emmy.getByLabel("Your name at the table").fill("Emmy");
  await emmy.getByRole("button", { name: "Join" }).click();
  await emmy.getByText("The host starts the match.").waitFor();
  await picture(emmy, "lobby-phone", true);
  await checkWidth(emmy);
  await ada.getByText("Emmy", { exact: true }).waitFor();
  await ada.getByRole("button", { name: "Start the match" }).click();

  await myTurn(ada);
  await emmy.getByText("Ada is to play").waitFor();
  await expect.poll(async () => (await look(emmy)).canDraw).toBe(false);
  await act(ada);
  // Emmy hears of the draw, and not of the card.
  await emmy.getByTestId("live").getByText("Ada draws from the stock").waitFor();
  expect(await emmy.getByTestId("live").textContent()).not.toContain(":");
  await ada
    .getByTestId("live")
    .getByText(/Ada draws from the stock: .+ of .+/)
    .waitFor();

  const watching = await openPage(browser, ada.url(), { size: DESK });
  await watching.getByText("You are watching.").first().waitFor();
  await watching.getByTestId("table").waitFor();
  expect((await look(watching)).hand).toBe(0);
  await picture(watching, "watch-desk");

  await emmy.getByRole("button", { name: "Leave the table" }).click();
  await emmy.getByRole("dialog").getByRole("button", { name: "Leave the table" }).click();
  await emmy.getByRole("button", { name: "Deal the cards" }).waitFor(); // she may hear of it after Ada
  await ada.getByText("(Autopilot)").first().waitFor();
  const discarded = await look(ada);
  await ada.locator(".hand button").last().click();
  await ada.locator("button[aria-keyshortcuts=D]").click();
  await moved(ada, discarded.version);
  await myTurn(ada); // the bot has played Emmy's turn
  await picture(ada, "autopilot-desk");
  const pile = ada.getByRole("button", { name: /^Discard pile · \d+$/ });
  const size = Number(/\d+/.exec((await pile.textContent()) ?? "")?.[0]);
  await pile.click();
  await expect.poll(() => ada.getByRole("dialog").getByRole("listitem").count()).toBe(size);
  await ada.keyboard.press("Escape");
  await emmy.goto(ada.url());
  await emmy.getByText("A bot is playing for you.").waitFor();
  await picture(emmy, "stand-in-phone");
  await emmy.getByRole("button", { name: "Play on myself" }).click();
  await emmy.getByText("A bot is playing for you.").waitFor({ state: "hidden" });
  await ada.getByText("Emmy is back").first().waitFor();
  for (const page of [ada, emmy, watching]) await page.context().close();
});

test("a page that is reloaded in mid-turn shows the same hand, and the turn goes on", async () => {
  const page = await openPage(browser, home);
  await dealAgainstBot(page, "Ida");
  await act(page);
  const names = () =>
    page.locator(".hand button").evaluateAll((cards) => cards.map((card) => (card as HTMLElement).dataset.card));
  const before = await names();
  const { version } = await look(page);
  await page.reload();
  await myTurn(page);
  await expect.poll(names).toEqual(before);
  await expect.poll(() => look(page)).toMatchObject({ version, canDraw: false, playing: true });
  await page.locator(".hand button").first().click();
  await page.locator("button[aria-keyshortcuts=D]").click();
  await moved(page, version);
  await page.goto(home);
  const back = page.getByRole("link", { name: "To the table" });
  await back.waitFor();
  await picture(page, "home-own-desk");
  await checkPage(page);
  await back.click();
  await myTurn(page);
  await page.context().close();
});

test("the turn goes on when the stream is ahead of the answer, which then takes nothing from what was chosen", async () => {
  const page = await openPage(browser, home);
  await dealAgainstBot(page, "Hal");
  let letGo: (() => void)[] = [];
  await page.route("**/SubmitAction", async (route) => {
    const response = await route.fetch();
    await new Promise<void>((resolve) => letGo.push(resolve));
    await route.fulfill({ response });
  });
  let answered = 0;
  page.on("requestfinished", (request) => {
    if (request.url().endsWith("/SubmitAction")) answered++;
  });
  const answer = async (expected: number) => {
    await expect.poll(() => letGo.length).toBe(expected); // the stream may have been ahead of them here, too
    answered = 0;
    for (const go of letGo) go();
    letGo = [];
    await expect.poll(() => answered).toBe(expected);
  };
  const draw = async () => {
    const { version } = await myTurn(page);
    await page.locator(".pile.stock").click();
    await moved(page, version);
    await page.locator(".hand button").last().click();
  };
  await draw();
  const { version } = await look(page);
  await page.locator("button[aria-keyshortcuts=D]").click();
  await moved(page, version);
  await answer(2);
  await draw();
  const chosen = page.locator(".hand [aria-pressed=true]");
  await expect.poll(() => chosen.count()).toBe(1);
  await answer(1);
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  expect(await chosen.count()).toBe(1);
  await page.context().close();
});

test("a server that restarts in mid-turn is found again, and the turn goes on", async () => {
  const page = await openPage(browser, home);
  await dealAgainstBot(page, "Vera");
  await act(page);
  const held = await look(page);
  const restart = cluster.killAndHold("game_state");
  await page.getByTestId("reconnecting").waitFor();
  await picture(page, "reconnecting-desk");
  restart();
  await page.getByTestId("reconnecting").waitFor({ state: "hidden" });
  await expect.poll(() => look(page)).toMatchObject({ version: held.version, hand: held.hand, playing: true });
  await page.locator(".hand button").first().click();
  await page.locator("button[aria-keyshortcuts=D]").click();
  await moved(page, held.version);
  await myTurn(page);
  await expect.poll(async () => (await look(page)).hand).toBe(held.hand - 1);
  await page.context().close();
});

test("a turn that runs out of time is played by autopilot, the page says so, and the seat is taken back", async () => {
  const page = await openPage(browser, home);
  const rami = await guestOf(page);
  // The clock is there for this long, however busy the browser is.
  const options = { seats: 2, turnTimeLimit: { seconds: 10n }, botPace: { seconds: 2n } };
  const { roomId } = await rami.createRoom(options, { bots: { 1: "easy" } });
  await page.goto(`${home}#/room/${roomId}`);
  // Started from the page, which so hears of everything: what came before it opened it would not tell.
  await page.getByRole("button", { name: "Start the match" }).click();
  await page.getByRole("timer").waitFor();
  await picture(page, "clock-desk");
  await page.getByTestId("live").getByText("Time is up for Guest").first().waitFor();
  await page.getByText("A bot is playing for you.").waitFor();
  await page.getByRole("button", { name: "Play on myself" }).click();
  await page.getByTestId("live").getByText("Guest is back").waitFor();
  await page.context().close();
});

test("keys alone: from the first page to the end of a match and into the rematch", async () => {
  const page = await openPage(browser, home);
  await page.getByText("No table is waiting").waitFor();
  const tabTo = async (name: string) => {
    const focused = () =>
      page.evaluate(() => {
        const element = document.activeElement as HTMLInputElement | null;
        return element?.labels?.[0]?.textContent ?? element?.textContent ?? "";
      });
    for (let presses = 0; presses < 60; presses++) {
      await page.keyboard.press("Tab");
      if ((await focused()).trim().startsWith(name)) return;
    }
    expect.fail(`Tab never came to ${name}`);
  };
  await tabTo("Your name at the table");
  await page.keyboard.type("Karen");
  await tabTo("2"); // opponents
  await page.keyboard.press("ArrowLeft");
  await tabTo("Deal the cards");
  await page.keyboard.press("Enter");
  let seen = await myTurn(page);
  let shifted = false;
  const picked = () => page.locator(".hand [aria-pressed=true]").count();
  while (!seen.over) {
    if (seen.canDraw) await page.keyboard.press("KeyS");
    else if (seen.hints > 0 && !shifted) {
      // Shift moves a card within the hand: its neighbour comes first then.
      shifted = true;
      await page.locator(".hand button[tabindex='0']").focus();
      const first = await page.locator(".hand button").first().getAttribute("data-card");
      await page.keyboard.press("Home");
      await page.keyboard.press("Shift+ArrowRight");
      await expect.poll(() => page.locator(".hand button").nth(1).getAttribute("data-card")).toBe(first);
      continue;
    } else {
      await page.locator(".hand button[tabindex='0']").focus();
      await page.keyboard.press("End");
      await page.keyboard.press("ArrowLeft");
      await page.keyboard.press("Space");
      await expect.poll(picked).toBe(1);
      await page.keyboard.press("Escape");
      await expect.poll(picked).toBe(0);
      await page.keyboard.press("Enter");
      await expect.poll(picked).toBe(1);
      await page.keyboard.press("KeyD");
    }
    await moved(page, seen.version);
    seen = await myTurn(page);
  }
  // The result has the focus, so that a screen reader reads it.
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("H1");
  await tabTo("Rematch");
  const finished = page.url();
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.href !== finished);
  await myTurn(page);
  await page.context().close();
});

test("cards are dragged: from the stock to the hand, within it, and to the discard pile", async () => {
  const page = await openPage(browser, home);
  await dealAgainstBot(page, "Dora");
  const drag = async (from: string, to: string) => {
    const [start, end] = await Promise.all([page.locator(from).boundingBox(), page.locator(to).boundingBox()]);
    if (!start || !end) throw new Error("not in sight");
    await page.mouse.move(start.x + start.width / 3, start.y + start.height / 2);
    await page.mouse.down();
    await page.mouse.move(end.x + end.width / 3, end.y + end.height / 2, { steps: 5 });
    await picture(page, "drag-desk");
    await page.mouse.up();
  };
  let { version, hand } = await look(page);
  await drag(".pile.stock", ".hand li:nth-child(2)");
  await moved(page, version);
  await expect.poll(async () => (await look(page)).hand).toBe(hand + 1);
  const card = await page.locator(".hand button").last().getAttribute("data-card");
  await drag(".hand li:last-child", ".hand li:first-child");
  await expect.poll(() => page.locator(".hand button").first().getAttribute("data-card")).toBe(card);
  ({ version, hand } = await look(page));
  await drag(".hand li:first-child", ".pile.discards");
  await moved(page, version);
  await expect.poll(async () => (await look(page)).hand).toBe(hand - 1);
  await page.context().close();
});

test("who leaves the first page while a table is on its way is not taken there, and not queued", async () => {
  const page = await openPage(browser, home);
  const calls: string[] = [];
  page.on("requestfinished", (request) => calls.push(request.url().split("/").at(-1) ?? ""));
  for (const [button, call, after] of [
    ["Find a table", "CreateTicket", "CancelTicket"],
    ["Deal the cards", "CreateRoom", undefined],
  ] as const) {
    await page.goto(home);
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    await page.route(`**/${call}`, async (route) => {
      const response = await route.fetch();
      await held;
      await route.fulfill({ response });
    });
    const asked = page.waitForRequest(`**/${call}`);
    await page.getByRole("button", { name: button }).click();
    await asked;
    await page.evaluate(() => {
      location.hash = "#/room/none";
    });
    await page.locator(".alone").waitFor();
    letGo();
    await expect.poll(() => calls).toContain(after ?? call);
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    expect(page.url()).toContain("#/room/none");
  }
  await page.context().close();
});

test("every language fits on a phone, and a quick match finds a table of the chosen pace in it", async () => {
  const paces: Record<string, [string, bigint]> = { es: ["Rápido", 20n], fr: ["Tranquille", 0n] };
  const texts = { es: "Buscar mesa", nb: "Finn et bord", fr: "Trouver une table", ru: "Найти стол", cs: "Najít stůl" };
  for (const [language, text] of Object.entries(texts)) {
    const page = await openPage(browser, home, { size: PHONE, locale: language, dark: language === "ru" });
    await page.getByRole("button", { name: text }).waitFor();
    await expect.poll(() => page.evaluate(() => document.documentElement.lang)).toBe(language);
    await checkWidth(page);
    const [pace, seconds] = paces[language] ?? [undefined, 60n];
    if (pace) {
      await page.getByRole("radio", { name: pace }).check();
      await page.reload();
      await page.getByRole("button", { name: text }).waitFor();
      await expect.poll(() => page.getByRole("radio", { name: pace }).isChecked()).toBe(true);
    }
    await page.getByRole("button", { name: text }).click();
    await myTurn(page);
    const rami = await guestOf(page);
    const { options } = await rami.getRoom(page.url().split("/").at(-1) ?? "");
    expect(options?.turnTimeLimit?.seconds).toBe(seconds);
    await act(page);
    await picture(page, `table-${language}-phone`);
    await checkWidth(page);
    if (language === "cs") {
      await page.getByRole("button", { name: "Pravidla" }).click();
      await page.getByRole("dialog").getByText("Cíl hry").waitFor();
      await picture(page, "rules-cs-phone");
    }
    await page.context().close();
  }
});
