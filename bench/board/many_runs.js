// Opens the board until all its rows are shown, twice, and writes the milliseconds of both.
// usage: many_runs.js ADDRESS ROWS FILE SPDX-License-Identifier: MIT
const fs = require("fs");
const {withBrowser} = require("browser.js");

const [, , kAddress, kRows, kFile] = process.argv;

withBrowser(async (browser) => {
  const blank = await browser.open("about:blank");  // starts what the browser needs for any page
  await blank.close();
  const times = [];
  for (let i = 0; i < 2; ++i) {
    const begin = performance.now();
    const page = await browser.open(kAddress + "/");
    await page.waitForFunction((rows) => document.querySelectorAll(".runs-table .name a").length === rows,
                               {polling: "raf"}, Number(kRows));
    times.push(performance.now() - begin);
    await page.close();
  }
  fs.writeFileSync(kFile, times.join(" "));
});
