// The page of the board in a browser: list, filter, sort, compare, report, a run that goes on.
// usage: board_page.js ADDRESS [FOLDER_OF_SCREENSHOTS]
// The runs: slow, quick, a run called <script>, failed, live (which goes on). SPDX-License-Identifier: MIT
const {withBrowser, kLooks, lookName, check, sleep} = require("browser.js");

const [, , kAddress, kScreenshots] = process.argv;
const kStrange = "<script>alert(1)";

const texts = (page, selector) => page.$$eval(selector, (all) => all.map((element) => element.textContent));
const runNames = (page) => texts(page, ".runs-table .name a");

// Waits until a condition in the page holds.
const until = async (page, what, condition, ...values) => {
  for (let i = 0; i < 300; ++i) {
    if (await page.evaluate(condition, ...values)) return;
    await sleep(100);
  }
  throw new Error(`waited for ${what}; the page says: ` + await page.evaluate(() => document.body.innerText));
};
const untilShown = (page, selector) => until(page, selector, (wanted) => {
  const element = document.querySelector(wanted);
  return element && element.getClientRects().length > 0;
}, selector);

const press = async (page, selector, text) => {
  for (const element of await page.$$(selector)) {
    if (await element.evaluate((own, wanted) => own.textContent.includes(wanted) &&
      own.getClientRects().length > 0, text)) {
      await element.evaluate((own) => own.scrollIntoView({block: "center"}));
      return element.click();
    }
  }
  throw new Error(`there is no ${selector} with '${text}'`);
};

const tick = async (page, name) => {
  const box = await page.$(`input[aria-label="compare ${name}"]`);
  await box.evaluate((own) => own.scrollIntoView({block: "center"}));
  await box.click();
};

// The values of the first chart; of many, its table says so beside the first of them.
const countValues = () => {
  const details = document.querySelector(".chart details"), more = details.querySelector(".controls button:not(.hidden)");
  return more ? Number(more.textContent.match(/\d+/)[0]) : details.querySelectorAll("tbody tr").length;
};

class Look {
  constructor(browser, look) { Object.assign(this, {browser, look}); }

  async open(address) {
    this.page = await this.browser.open(kAddress + address, this.look);
    return this.page;
  }

  async checkPage(name, options = {}) {
    await this.browser.expectFits(this.page);
    await this.browser.expectAccessible(this.page);
    if (kScreenshots) {
      await this.browser.screenshot(this.page, `${kScreenshots}/${name}-${lookName(this.look)}.png`, options);
    }
  }

  async list() {
    const page = await this.open("/");
    await until(page, "five runs", () => document.querySelectorAll(".runs-table tbody tr").length === 5);
    await until(page, "the connection", () => document.querySelector(".live").textContent === "live");
    check((await runNames(page)).includes(kStrange), "a name with < must be text");
    check((await texts(page, ".runs-table tbody .state")).includes("running"), "no run is running");
    await this.checkPage("board-list");

    await page.type("input[type=search]", "slow");
    check((await runNames(page)).join() === "slow", "filter by text: " + await runNames(page));
    await page.$eval("input[type=search]", (input) => { input.value = ""; input.dispatchEvent(new Event("input")); });
    await press(page, ".chips button", "failed");
    check((await runNames(page)).join() === "failed", "filter by state: " + await runNames(page));
    await press(page, ".chips button", "all");
    await this.sort(page);
  }

  async sort(page) {
    if (this.look.width < 600) await page.select("select[aria-label='sort by']", "best");
    else await press(page, ".runs-table thead button", "best");
    const best = (await texts(page, ".runs-table .best b")).map(parseFloat);
    check(best.length >= 3 && best.every((value, i) => i === 0 || value <= best[i - 1]), "sorted by best: " + best);
    if (this.look.width < 600) return;
    await press(page, ".runs-table thead button", "best");
    const worst = (await texts(page, ".runs-table .best b")).map(parseFloat);
    check(worst.every((value, i) => i === 0 || value >= worst[i - 1]), "sorted by worst: " + worst);
  }

  async compare() {
    const {page} = this;
    await tick(page, "slow");
    await untilShown(page, ".compare-bar");
    check(await page.$eval(".compare-bar .button:last-child", (button) => button.disabled), "one run can be compared");
    await tick(page, "quick");
    await this.checkPage("board-ticked");
    await press(page, ".compare-bar button", "compare 2 runs");
    await untilShown(page, ".uplot");
    const legend = await texts(page, ".chart .u-legend .u-label");
    check(legend.some((text) => text.startsWith("slow")) && legend.some((text) => text.startsWith("quick")),
      "the legend names both runs: " + legend);
    check((await texts(page, "td")).includes("learning-rate"), "the options that differ are missing");
    const folds = await texts(page, "details.layer");
    check(folds.length === 2 && folds.every((text) => text.includes("pando train")), "commands of the runs: " + folds);
    await this.checkPage("board-compare");
    await press(page, "a.back", "all runs");
    await untilShown(page, ".runs-table");
    check((await texts(page, ".compare-bar .names"))[0].includes("slow"), "ticks are forgotten");
  }

  async report() {
    const {page} = this;
    await press(page, ".runs-table .name a", "slow");
    await untilShown(page, ".uplot");
    check(await page.$eval("h1", (title) => title.textContent.includes("slow")) ||
      (await texts(page, "h1")).some((text) => text.includes("slow")), "the run is not open");
    await Promise.all([page.waitForNavigation(), press(page, "a.button", "full report")]);
    await untilShown(page, ".uplot");
    check((await texts(page, "h1"))[0].includes("slow"), "the report is of another run");
    await this.browser.expectFits(page);
    await page.goBack();
    await untilShown(page, ".uplot");
  }

  // Curves grow without a reload, and a zoom stays.
  async live() {
    const page = await this.open("/#/run/live");
    await untilShown(page, ".uplot");
    await page.evaluate(() => { window.notReloaded = true; });
    const epochs = () => page.$$eval(".figure", (all) => parseFloat(all.find((figure) =>
      figure.textContent.includes("epochs"))?.querySelector("b").textContent));
    const before = await epochs();
    await page.$eval(".chart details", (details) => { details.open = true; });
    await until(page, "the table of values", () => document.querySelector(".chart details tbody tr"));
    const values = await page.evaluate(countValues);
    await until(page, "more epochs", (old) => [...document.querySelectorAll(".figure")].some((figure) =>
      figure.textContent.includes("epochs") && parseFloat(figure.querySelector("b").textContent) > old), before);
    await until(page, "more values", `(${countValues})() > ${values}`);
    await page.$eval(".chart details", (details) => { details.open = false; });
    await press(page, ".chart .tools button", "zoom in");
    await untilShown(page, ".chart .tools button:last-child");
    await sleep(1500);  // rows arrive meanwhile
    await untilShown(page, ".chart .tools button:last-child");
    await press(page, ".chart .tools button", "whole range");
    check(await page.evaluate(() => window.notReloaded), "the page was loaded again");
    await this.checkPage("board-live");
    await page.close();
  }

  async strange() {
    const address = "/#/run/" + encodeURIComponent(kStrange).replace(/[()]/g, (letter) =>
      "%" + letter.charCodeAt(0).toString(16));
    const page = await this.open(address);
    await until(page, "the run", (name) => [...document.querySelectorAll("h1")].some((title) =>
      title.textContent.startsWith(name)), kStrange);
    await page.goto(kAddress + "/#/run/nowhere");
    await until(page, "the message", () => document.body.innerText.includes("no run 'nowhere'"));
    await page.close();
    // The browser itself reports the answer 404 on its console.
    this.browser.errors = this.browser.errors.filter((text) =>
      !(text.startsWith(kAddress + address) && text.includes("404")));
  }
}

withBrowser(async (browser) => {
  for (const kind of kLooks) {
    const look = new Look(browser, kind);
    await look.list();
    await look.compare();
    await look.report();
    await look.page.close();
    await look.live();
    await look.strange();
    console.log(lookName(kind), "passed");
  }
});
