import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";
const edge = JSON.parse(readFileSync("/tmp/rw/up.json")).edge;
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const out = (n) => `/tmp/shots/${n}.png`;
for (const [w, h, scheme] of [[390, 844, "light"], [1440, 900, "dark"]]) {
  const ctx = await browser.newContext({ viewport: { width: w, height: h }, colorScheme: scheme, locale: "en-GB", hasTouch: w < 500, isMobile: w < 500 });
  const page = await ctx.newPage();
  page.on("console", (m) => console.log(w, m.type(), m.text()));
  page.on("pageerror", (e) => console.log(w, "pageerror", e.message));
  await page.goto(`http://${edge}/`);
  await page.waitForTimeout(800);
  await page.screenshot({ path: out(`home-${w}`), fullPage: true });
  await page.getByLabel("Your name at the table").fill("Ada");
  await page.getByRole("button", { name: "Deal the cards" }).click();
  await page.getByTestId("table").waitFor({ timeout: 15000 });
  await page.getByText("Your turn: draw a card").first().waitFor({ timeout: 15000 });
  await page.waitForTimeout(300);
  await page.screenshot({ path: out(`draw-${w}`) });
  for (let turn = 0; turn < 7; turn++) {
    await page.locator(".pile.stock.legal").click({ timeout: 20000 });
    await page.waitForTimeout(400);
    const hint = page.locator(".hint").first();
    if (await hint.count()) {
      await hint.click();
      await page.waitForTimeout(150);
      await page.screenshot({ path: out(`hint-${w}`) });
      const lay = page.locator(".meld .lay").first();
      if (await lay.count()) await lay.click(); else await page.locator(".actions .primary").first().click();
      await page.waitForTimeout(400);
    }
    await page.locator(".hand button").last().click();
    await page.waitForTimeout(100);
    if (turn === 6) await page.screenshot({ path: out(`picked-${w}`) });
    await page.locator(".discard-button").click();
    if (await page.getByTestId("end").count()) break;
    await page.locator(".my-turn, [data-testid=end]").first().waitFor({ timeout: 30000 }).catch(() => {});
  }
  await page.waitForTimeout(1500);
  await page.screenshot({ path: out(`late-${w}`) });
  await ctx.close();
}
await browser.close();
