// Tests browser.js: what it must find in a wrong page, and a right one in all looks.
// SPDX-License-Identifier: MIT
const {withBrowser, kLooks, check, sleep} = require("browser.js");

const page = (body, script = "") =>
  "data:text/html;charset=utf-8," +
  encodeURIComponent(
    `<!DOCTYPE html><html lang="en"><meta name="viewport" content="width=device-width, initial-scale=1"><title>test</title><body><main><h1>test</h1>${body}</main><script>${script}</script>`,
  );

const fails = async (action, words) => {
  try {
    await action();
  } catch (error) {
    check(error.message.includes(words), `expected '${words}', got: ${error.message}`);
    return;
  }
  throw new Error(`found no '${words}'`);
};

withBrowser(async (browser) => {
  for (const look of kLooks) {
    const right = await browser.open(page("<p>fine</p>"), look);
    await browser.expectAccessible(right);
    await browser.expectFits(right);
    const dark = await right.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches);
    check(dark === look.dark && (await right.evaluate(() => innerWidth)) === look.width, JSON.stringify(look));
    await right.close();
  }
  check(browser.errors.length === 0, "a right page has errors: " + browser.errors.join());
  const wrong = await browser.open(
    page(
      '<button></button><div style="width:3000px">wide</div>',
      "console.error('told'); setTimeout(() => { throw new Error('thrown'); })",
    ),
  );
  await sleep(100);
  check(
    browser.errors.some((text) => text.includes("told")),
    "console errors are not seen",
  );
  check(
    browser.errors.some((text) => text.includes("thrown")),
    "page errors are not seen",
  );
  browser.errors.length = 0;
  await fails(() => browser.expectAccessible(wrong), "button-name");
  await fails(() => browser.expectFits(wrong), "wide");
  console.log("the driver finds what it must");
});
