// A headless Chromium for tests of pages: looks (width, light or dark), errors, accessibility,
// screenshots. Needs the environment of browser.py. SPDX-License-Identifier: MIT
//
//   const {withBrowser, kLooks} = require("browser.js");
//   withBrowser(async (browser) => {
//     const page = await browser.open("file:///tmp/report.html", {width: 390, dark: true});
//     await page.click("button");
//     await browser.expectAccessible(page);
//     await browser.screenshot(page, "a.png");
//   });
// An error of a page or on its console fails the script.

const fs = require("fs");
const path = require("path");
const puppeteer = require("puppeteer-core");

const kFlags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
  "--hide-scrollbars",
];

// The looks that every page is tested in.
const kLooks = [1280, 390].flatMap((width) => [false, true].map((dark) => ({width, dark})));
const lookName = ({width, dark}) => `${width}-${dark ? "dark" : "light"}`;

const check = (condition, text) => {
  if (!condition) throw new Error(text);
};
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

class Browser {
  constructor(browser) {
    this.browser = browser;
    this.errors = [];
  }

  async open(url, {width = 1280, height, dark = false} = {}) {
    const page = await this.browser.newPage();
    page.on("pageerror", (error) => this.errors.push(`${url}: ${error.stack || error.message}`));
    page.on("console", (message) => {
      if (["error", "warn"].includes(message.type())) this.errors.push(`${url}: console: ${message.text()}`);
    });
    page.on("requestfailed", (request) => {
      // A page that is left or closed ends its streams.
      if (request.failure()?.errorText !== "net::ERR_ABORTED") {
        this.errors.push(`${request.url()}: ${request.failure()?.errorText}`);
      }
    });
    await page.emulateMediaFeatures([
      {name: "prefers-color-scheme", value: dark ? "dark" : "light"},
      {name: "prefers-reduced-motion", value: "reduce"},
    ]);
    await page.setViewport({
      width,
      height: height || (width < 600 ? 844 : 900),
      isMobile: width < 600,
      hasTouch: width < 600,
      deviceScaleFactor: 1,
    });
    await page.goto(url, {waitUntil: "load"});
    return page;
  }

  // Fails for faults that axe-core calls serious or critical.
  async expectAccessible(page) {
    await page.evaluate(fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
    const found = await page.evaluate(() => axe.run(document, {resultTypes: ["violations"]}));
    const serious = found.violations.filter((fault) => ["serious", "critical"].includes(fault.impact));
    check(
      serious.length === 0,
      serious
        .map(
          (fault) =>
            `${fault.id}: ${fault.help}\n` +
            fault.nodes
              .slice(0, 3)
              .map((node) => `  ${node.html.slice(0, 300)}\n  ${node.failureSummary}`)
              .join("\n"),
        )
        .join("\n"),
    );
  }

  // Nothing sticks out to the right: a phone shows the page without sideways scrolling.
  async expectFits(page) {
    const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    check(content <= window, `the page is ${content} px wide, the window ${window}`);
  }

  async screenshot(page, file, options = {}) {
    fs.mkdirSync(path.dirname(path.resolve(file)), {recursive: true});
    await page.screenshot({path: file, ...options});
  }
}

// Runs `test(browser)` and ends the process: with 1 if it throws or a page had an error.
const withBrowser = async (test) => {
  let status = 0;
  const chromium = await puppeteer.launch({
    executablePath: process.env.PANDO_CHROMIUM,
    headless: true,
    args: kFlags,
    userDataDir: process.env.PANDO_BROWSER_PROFILE,
  });
  const browser = new Browser(chromium);
  try {
    await test(browser);
    check(browser.errors.length === 0, "errors of pages:\n" + browser.errors.join("\n"));
  } catch (error) {
    console.error(error.stack || error);
    if (browser.errors.length > 0) console.error("errors of pages:\n" + browser.errors.join("\n"));
    status = 1;
  }
  await chromium.close();
  process.exit(status);
};

module.exports = {withBrowser, kLooks, lookName, check, sleep};
