// What a reader does with a report: looks, clicks, zooms, compares. Called by report_test.py.
// SPDX-License-Identifier: MIT
const {withBrowser, kLooks, lookName, check, sleep} = require("browser.js");

const pages = JSON.parse(process.argv[2]),
  screenshots = process.argv[3];

const open = async (browser, name, look) => {
  const page = await browser.open("file://" + pages[name], look);
  page.on("dialog", (dialog) => {
    browser.errors.push(`${name}: a script of the data ran: ${dialog.message()}`);
    dialog.dismiss();
  });
  await sleep(300);
  return page;
};

const textOf = (page, selector) => page.$eval(selector, (element) => element.textContent);

// The cell with most mistakes answers with pictures that a browser can decode.
const clickCell = async (page) => {
  const wanted = await page.$$eval("table.confusion button.miss", (buttons) => {
    const largest = buttons.reduce((a, b) => (Number(a.textContent) >= Number(b.textContent) ? a : b));
    const other = buttons.find((button) => button !== largest && Number(button.textContent) > 0) || largest;
    other.id = "wanted";
    return {title: other.title.split(":")[0], count: Number(other.textContent)};
  });
  await page.$eval("#wanted", (button) => button.scrollIntoView({block: "center"}));
  await page.click("#wanted");
  const shown = await page.$$eval(
    "#classes .card",
    (cards) => cards.find((card) => card.ariaLive === "polite").querySelector("h3").textContent,
  );
  check(shown === wanted.title, `expected '${wanted.title}', got '${shown}'`);
  const pictures = await page.$$eval("#classes .card[aria-live] .picture", async (elements) => {
    const picture = new Image();
    picture.src = elements[0].style.backgroundImage.slice(5, -2);
    await picture.decode();
    return {count: elements.length, width: picture.naturalWidth, label: elements[0].ariaLabel};
  });
  check(pictures.count >= 1 && pictures.count <= wanted.count, `${pictures.count} pictures of ${wanted.count} samples`);
  check(pictures.width >= 28 && pictures.label.includes("predicted as"), JSON.stringify(pictures));
};

// Arrow keys move in the matrix, which is one stop of the tab key.
const moveInMatrix = async (page) => {
  check(
    (await page.$$eval("table.confusion button[tabindex='0']", (all) => all.length)) === 1,
    "the matrix has one tab stop",
  );
  await page.focus("table.confusion button[tabindex='0']");
  const before = await page.evaluate(() => document.activeElement.title);
  for (const key of ["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight"]) await page.keyboard.press(key);
  check((await page.evaluate(() => document.activeElement.title)) !== "", "the focus left the matrix");
  check(before !== undefined, "no cell");
};

const zoomCurve = async (page) => {
  const chart = await page.$("#curves .chart");
  await chart.evaluate((element) => element.scrollIntoView({block: "center"}));
  const reset = await chart.$("::-p-text(whole range)");
  check(await reset.evaluate((button) => button.classList.contains("hidden")), "the chart begins with a zoom");
  const box = await (await chart.$(".u-over")).boundingBox(),
    y = box.y + box.height / 2;
  await page.mouse.move(box.x + 0.3 * box.width, y);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.7 * box.width, y, {steps: 5});
  await page.mouse.up();
  check(!(await reset.evaluate((button) => button.classList.contains("hidden"))), "dragging does not zoom");
  await reset.click();
  check(await reset.evaluate((button) => button.classList.contains("hidden")), "the whole range does not come back");
  await chart.$eval("details", (details) => {
    details.open = true;
  });
  await sleep(50);
  check((await chart.$$eval("tbody tr", (rows) => rows.length)) >= 2, "the table of values is empty");
  await chart.$eval("details", (details) => {
    details.open = false;
  });
};

const sortClasses = async (page) => {
  const column = () =>
    page.$$eval("#classes table[aria-label=classes] tbody tr", (rows) =>
      rows.map((row) => parseFloat(row.cells[3].textContent)),
    );
  const head = await page.$("#classes table[aria-label=classes] th:nth-child(4) button");
  await head.evaluate((button) => button.click());
  const down = await column();
  check(
    down.every((value, i) => i === 0 || value <= down[i - 1]),
    `not sorted: ${down}`,
  );
  await head.evaluate((button) => button.click());
  const up = await column();
  check(
    up.every((value, i) => i === 0 || value >= up[i - 1]),
    `not sorted: ${up}`,
  );
};

const pointAtWorkers = async (page) => {
  const canvas = await page.$("#time canvas");
  await canvas.evaluate((element) => element.scrollIntoView({block: "center"}));
  const box = await canvas.boundingBox();
  const texts = new Set();
  for (let share = 0.2; share < 1; share += 0.1) {
    await page.mouse.move(box.x + share * box.width, box.y + 35);
    texts.add(await textOf(page, "#time .hint"));
  }
  check(
    [...texts].some((text) => /worker 0: .*(ms|µs)/.test(text)),
    `hints: ${[...texts].join(" | ")}`,
  );
};

// What is live at the peak adds up to the bytes that are named.
const checkPeak = async (page) => {
  const found = await page.evaluate(() => {
    const {memory} = JSON.parse(document.getElementById("data").textContent).details[0].profile,
      row = memory.plan.stages[0];
    const live = memory.blocks.filter(
      (block) =>
        block.stage === row.stage &&
        ["activations", "sums"].includes(block.region) &&
        block.first_call <= row.peak_call &&
        row.peak_call <= block.last_call,
    );
    const sum = live.reduce((bytes, block) => bytes + block.bytes, 0);
    return {live: live.length, sum, peak: row.peak_bytes, complete: memory.blocks.length === memory.all_blocks};
  });
  const rows = await page.$$eval("#memory table[aria-label='what is live at the peak'] tbody tr", (all) => all.length);
  check(rows === Math.min(found.live, 30), `${rows} rows of ${found.live} live blocks`);
  check(!found.complete || found.sum === found.peak, `${found.sum} bytes are live, the peak is ${found.peak}`);
};

const readOne = async (browser, look) => {
  const page = await open(browser, "one", look);
  const parts = await page.$$eval("section.part", (all) => all.map((part) => part.id));
  for (const id of ["curves", "classes", "time", "memory", "graph", "input", "run"])
    check(parts.includes(id), `no part '${id}': ${parts}`);
  const charts = await page.$$eval("#curves .chart h3", (all) => all.map((head) => head.firstChild.textContent));
  for (const title of ["Loss", "Accuracy", "Learning rate", "Throughput", "Processor", "Memory", "Disks, bytes per second"])
    check(charts.includes(title), `no chart '${title}': ${charts}`);
  const roofline = await page.$eval("#time .uplot .u-over", (over) => over.clientWidth);
  check(roofline > 200, `the roofline is ${roofline} px wide`);
  await checkPeak(page);
  await browser.expectFits(page);
  await browser.expectAccessible(page);
  await clickCell(page);
  await zoomCurve(page);
  if (look.width > 600) {
    await moveInMatrix(page);
    await sortClasses(page);
    await pointAtWorkers(page);
    await page.$eval("#graph details.layer", (fold) => {
      fold.open = true;
    });
    await sleep(50);
    check((await page.$$eval("#graph details.layer tbody tr", (rows) => rows.length)) > 0, "a layer does not unfold");
  }
  await browser.expectAccessible(page);
  if (screenshots) await takePictures(browser, page, look);
  await page.close();
};

const takePictures = async (browser, page, look) => {
  const name = lookName(look);
  await page.evaluate(() => scrollTo(0, 0));
  await browser.screenshot(page, `${screenshots}/report-${name}.png`);
  await browser.screenshot(page, `${screenshots}/report-${name}-whole.png`, {fullPage: true});
  for (const id of ["classes", "time", "memory"])
    await (await page.$("#" + id)).screenshot({path: `${screenshots}/report-${name}-${id}.png`});
};

const compare = async (browser, look) => {
  const page = await open(browser, "compared", look);
  await browser.expectFits(page);
  await browser.expectAccessible(page);
  check(
    (await page.$$eval("#runs table[aria-label='the runs'] tbody tr", (rows) => rows.length)) === 2,
    "two runs have two rows",
  );
  const differing = await textOf(page, "#runs table[aria-label='options that differ']");
  check(differing.includes("learning-rate"), differing);
  const folds = await page.$$eval("#runs details.layer", (all) =>
    all.map((fold) => {
      fold.open = true;
      return fold.textContent;
    }),
  );
  check(
    folds.length === 2 &&
      ["first", "second"].every((name, i) => folds[i].startsWith(name)) &&
      folds.every((text) => text.includes("pando train") && text.includes("machine")),
    `runs: ${folds.join(" | ")}`,
  );
  await browser.expectFits(page);
  await browser.expectAccessible(page);
  const toggle = await page.$("#curves .controls > button[aria-pressed]");
  await toggle.click();
  check((await toggle.evaluate((button) => button.getAttribute("aria-pressed"))) === "false", "a run cannot be hidden");
  const hidden = () => page.$$eval("#curves .u-series.u-off", (entries) => entries.length);
  const off = await hidden();
  check(off > 0, "no curve of a hidden run is hidden");
  await (await page.$("#curves .choice ::-p-text(time)")).click();
  check((await hidden()) === off, "a hidden run comes back with another axis");
  await (await page.$("#classes .controls ::-p-text(second)")).click();
  check((await page.$("#classes table.confusion")) !== null, "the second run has no classes");
  if (screenshots) await browser.screenshot(page, `${screenshots}/compared-${lookName(look)}.png`);
  await page.close();
};

// A pipeline: colours of stages, its schedule, the memory of each stage.
const readPipeline = async (browser, look) => {
  const page = await open(browser, "pipeline", look);
  await browser.expectFits(page);
  await browser.expectAccessible(page);
  const heads = await page.$$eval("#time h3", (all) => all.map((head) => head.textContent));
  check(heads.includes("Schedule: planned against measured"), `headings: ${heads}`);
  const widths = await page.$$eval("#time canvas.drawn", (all) => all.map((canvas) => canvas.width));
  check(widths.length === 2 && widths.every((width) => width > 200), `charts of time: ${widths}`);
  const keys = () =>
    page.$eval("#time .keys", (all) => [...all.querySelectorAll(".key")].map((key) => key.textContent));
  const stages = await keys();
  check(
    ["stage 0", "stage 1", "idle"].every((key) => stages.includes(key)) && !stages.includes("forward"),
    `keys: ${stages}`,
  );
  await (await page.$("#time .choice ::-p-text(kinds of work)")).click();
  const kinds = await keys();
  check(kinds.includes("forward") && kinds.includes("idle") && !kinds.includes("stage 0"), `keys: ${kinds}`);
  const rows = (caption) => page.$$eval(`#memory table[aria-label='${caption}'] tbody tr`, (all) => all.length);
  check((await rows("memory of the stages")) === 2, "a stage has no row");
  check((await rows("memory of the devices")) === 2, "a device has no row");
  const map = () => page.$eval("#memory canvas.drawn", (canvas) => canvas.ariaLabel);
  const first = await map();
  await (await page.$("#memory .choice ::-p-text(stage 1)")).click();
  check(first.includes("of stage 0") && (await map()).includes("of stage 1"), `maps: ${first}, ${await map()}`);
  await sleep(50);
  await browser.expectFits(page);
  await browser.expectAccessible(page);
  if (screenshots) {
    for (const id of ["time", "memory"])
      await (await page.$("#" + id)).screenshot({path: `${screenshots}/pipeline-${id}-${lookName(look)}.png`});
  }
  await page.close();
};

// What was not recorded is named with the flag that records it.
const readPlain = async (browser) => {
  const page = await open(browser, "plain", {});
  for (const id of ["time", "memory", "graph", "input"])
    check((await textOf(page, "#" + id)).includes("--profile"), `${id} does not name the flag`);
  check((await page.$("#time canvas")) === null, "a run without a profile has no chart of workers");
  await page.close();
};

const readHostile = async (browser) => {
  const page = await open(browser, "hostile", {});
  check((await textOf(page, "#classes")).includes("<img src=x onerror=alert(2)>"), "the name of the class is not text");
  check((await page.$("#main img")) === null, "a name became an element");
  check((await page.$("#main script")) === null, "a name became a script");
  await page.close();
};

// Every task shows what its report has.
const readTasks = async (browser, look) => {
  const part = async (name, check) => {
    const page = await open(browser, name, look);
    await browser.expectFits(page);
    await browser.expectAccessible(page);
    await page.$eval("#classes", (element) => element.scrollIntoView());
    await sleep(100);
    await check(page);
    if (screenshots) await (await page.$("#classes")).screenshot({path: `${screenshots}/${name}-${lookName(look)}.png`});
    await page.close();
  };
  const rows = (page, caption) =>
    page.$$eval(`#classes table[aria-label='${caption}'] tbody tr`, (all) =>
      all.map((row) => [...row.cells].map((cell) => cell.textContent)),
    );
  await part("segmentation", async (page) => {
    const classes = await rows(page, "classes");
    check(
      classes.map((row) => row[0]).sort().join() === "background,circle,square" && classes[0][2].endsWith("%"),
      `classes: ${JSON.stringify(classes)}`,
    );
    const figures = await page.$$eval("#classes figure", (all) =>
      all.map((figure) => [figure.querySelectorAll(".picture").length, figure.textContent]),
    );
    check(figures.length === 8 && figures.every(([count]) => count === 3), `pictures: ${JSON.stringify(figures)}`);
    const overlaps = figures.map(([, text]) => parseFloat(text.split("overlap ")[1]));
    check(overlaps[0] <= overlaps[4], `the worst picture is better than the best: ${overlaps}`);
  });
  await part("regression", async (page) => {
    const targets = await rows(page, "errors of the targets");
    check(targets.length === 4 && targets.every((row) => row[1] > 0), `targets: ${JSON.stringify(targets)}`);
    const charts = await page.$$eval("#classes .chart canvas", (all) => all.map((canvas) => canvas.width));
    check(charts.length === 4 && charts.every((width) => width > 200), `charts: ${charts}`);
  });
  await part("multilabel", async (page) => {
    const labels = await rows(page, "labels");
    check(
      labels.map((row) => row[0]).sort().join() === "bright,third" && labels.every((row) => row.length === 6),
      `labels: ${JSON.stringify(labels)}`,
    );
    check((await textOf(page, "#classes .figures")).includes("of 15 samples"), "no figure of all labels");
  });
};

// A profile that another run has replaced is not shown as that of this run.
const readShared = async (browser) => {
  const page = await open(browser, "shared", {});
  const text = await textOf(page, "#time");
  check(text.includes("/later") && (await page.$("#time canvas")) === null, `the profile of another run: ${text}`);
  await page.close();
};

// The time until the page can answer again; the best of some tries, as other programs may disturb.
const answerTime = (page, selector, action) =>
  page.evaluate(
    async (selector, action) => {
      const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      const buttons = [...document.querySelectorAll(selector)].filter((button) => button.textContent === action);
      let best = Infinity;
      for (let i = 0; i < 6; ++i) {
        await frame();
        const begin = performance.now();
        buttons[0].click();
        await frame();
        best = Math.min(best, performance.now() - begin);
      }
      return best;
    },
    selector,
    action,
  );

const readLong = async (browser) => {
  const page = await open(browser, "long", {});
  const times = {
    all: await answerTime(page, "#time .controls button", "all"),
    zoom: await answerTime(page, "#time .controls button", "zoom in"),
    curve: await answerTime(page, "#curves .tools button", "zoom in"),
    axis: await answerTime(page, "#curves .choice button", "step"),
  };
  console.log("answers after ms: " + JSON.stringify(times));
  const charts = await page.$$eval("#curves .chart h3", (all) => all.map((head) => head.firstChild.textContent));
  check(charts.includes("Loss-scaling factor"), `charts: ${charts}`);
  for (const [name, ms] of Object.entries(times)) check(ms < 100, `${name} takes ${ms} ms`);
  await page.close();
};

withBrowser(async (browser) => {
  for (const look of kLooks) {
    await readOne(browser, look);
    await compare(browser, look);
    await readPipeline(browser, look);
    await readTasks(browser, look);
  }
  await readShared(browser);
  await readPlain(browser);
  await readHostile(browser);
  await readLong(browser);
  console.log("reports read at " + kLooks.map(lookName).join(", "));
});
