// The page of the server as a user meets it. usage: page_test.js ADDRESS FOLDER PID [SCREENSHOTS]
// SPDX-License-Identifier: MIT
const path = require("path");
const {withBrowser, kLooks, lookName, check} = require("browser.js");

const [address, folder, server, screenshots] = process.argv.slice(2);
const wait = (page, condition, what) => page.waitForFunction(condition, {timeout: 30000})
  .catch(async () => { throw new Error(`waited for ${what}; the page says:\n${await text(page, "body")}`); });
const text = (page, selector) => page.$eval(selector, (element) => element.innerText);
const upload = async (page, name) => {
  const input = await page.$("input[type=file]");
  await input.uploadFile(path.join(folder, name));
};

withBrowser(async (browser) => {
  const backgrounds = new Set();
  for (const [count, look] of kLooks.entries()) {
    const page = await browser.open(address, look);
    await wait(page, "document.getElementById('state').textContent === 'ready'", "ready");
    await wait(page, "document.querySelector('.numbers b')", "numbers");
    check((await text(page, "section")).includes("version 1"), "no version");
    await upload(page, "picture.png");
    await wait(page, "document.querySelectorAll('.bar').length === 10", "ten bars");
    const bars = await text(page, ".bars");
    check(/answered in [\d.]+ ms/.test(bars) && bars.includes("Trouser"), `bars: ${bars}`);
    check((await text(page, "pre")).includes("--data-binary @picture.png"), "no line for curl");
    // An example that was stored with the model, instead of an own picture.
    await wait(page, "document.querySelectorAll('.examples button img').length === 3", "three examples");
    const [label, width] = await page.$eval(".examples button img", (picture) => [picture.alt, picture.naturalWidth]);
    check(["Bag", "Trouser", "Sandal"].includes(label) && width === 28, `example: ${label}, ${width}`);
    await page.click(".examples button");
    await wait(page, "document.querySelector('.result img')?.naturalWidth === 28", "the example that was sent");
    await wait(page, "document.querySelectorAll('.bar').length === 10", "ten bars for the example");
    const command = await text(page, "pre");
    check(command.includes(`/pando/examples/mnist/0-${label}.png &&`) && command.includes(`@0-${label}.png`), command);
    await wait(page, `[...document.querySelectorAll('.numbers div')].some((e) =>
      e.innerText.startsWith('${2 * count + 2}') && e.innerText.includes('answered'))`, "the count");
    await browser.expectAccessible(page);
    await browser.expectFits(page);
    if (screenshots) await browser.screenshot(page, path.join(screenshots, `serve-${lookName(look)}.png`), {fullPage: true});
    backgrounds.add(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
    await page.close();
  }
  check(backgrounds.size === 2, "light and dark look alike");

  // Errors are shown, and those of the network are expected from here on.
  const page = await browser.open(address);
  await wait(page, "document.getElementById('state').textContent === 'ready'", "ready");
  check(browser.errors.length === 0, browser.errors.join("\n"));
  await upload(page, "broken.png");
  await wait(page, "document.querySelector('.bars .bad')", "an error");
  process.kill(Number(server), "SIGKILL");
  await wait(page, "document.getElementById('state').textContent.includes('does not answer')", "the end of the server");
  browser.errors.length = 0;
  console.log("the page answers");
});
