// Opens the board twice and writes, for each opening, the milliseconds until the list is there and
// those from the click on "show all" until it has all rows. Fewer runs than a list shows at first have
// no such button: then the second time is 0.
// usage: many_runs.js ADDRESS RUNS FILE
// SPDX-License-Identifier: MIT
const fs = require("fs");
const {withBrowser} = require("browser.js");

const [, , kAddress, kRuns, kFile] = process.argv;
const kShownFirst = 100; // `most` of RunTable

// The first chip counts all runs.
const hasRows = (runs, rows) =>
  Number(document.querySelector(".chips button b")?.textContent.replaceAll(",", "")) === runs &&
  document.querySelectorAll(".runs-table .name a").length === rows;

withBrowser(async (browser) => {
  const blank = await browser.open("about:blank"); // starts what the browser needs for any page
  await blank.close();
  const runs = Number(kRuns),
    times = [];
  for (let i = 0; i < 2; ++i) {
    let begin = performance.now();
    const page = await browser.open(kAddress + "/");
    await page.waitForFunction(hasRows, {polling: "raf"}, runs, Math.min(runs, kShownFirst));
    times.push(performance.now() - begin);
    begin = performance.now();
    if (runs > kShownFirst) {
      await page.click(".more button");
      await page.waitForFunction(hasRows, {polling: "raf"}, runs, runs);
      times.push(performance.now() - begin);
    } else {
      times.push(0);
    }
    await page.close();
  }
  fs.writeFileSync(kFile, times.join(" "));
});
