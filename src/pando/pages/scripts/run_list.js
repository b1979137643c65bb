// The list of runs: filter, sort, tick; rows change in place while runs go on.
// SPDX-License-Identifier: MIT

const makeSvg = (tag, attributes, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

// The shape of a curve, without numbers. Gaps and values that are not finite are left out.
const sparkline = (entry) => {
  const kWidth = 100, kHeight = 28;
  const points = entry.points.map((y, i) => [i, y]).filter(([, y]) => isNumber(y));
  if (points.length < 2) return make("span", {className: "soft small", textContent: ""});
  const values = points.map(([, y]) => y), low = Math.min(...values), high = Math.max(...values);
  const place = ([i, y]) => `${(kWidth * i / (entry.points.length - 1)).toFixed(1)},` +
    `${(high > low ? kHeight - 1.5 - (kHeight - 3) * (y - low) / (high - low) : kHeight / 2).toFixed(1)}`;
  const line = points.map(place);
  return makeSvg("svg", {class: "sparkline", viewBox: `0 0 ${kWidth} ${kHeight}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `${entry.curve} from ${numberText(values[0])} to ${numberText(values.at(-1))}`},
  makeSvg("polygon", {points: `0,${kHeight} ${line.join(" ")} ${line.at(-1).split(",")[0]},${kHeight}`}),
  makeSvg("polyline", {points: line.join(" ")}));
};

const ageText = (ms, now = Date.now()) => {
  if (!ms) return "";
  const seconds = Math.max(0, (now - ms) / 1e3);
  if (seconds < 10) return "now";
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} days ago`;
};

const runAddress = (id) => "#/run/" + id;
const whatText = (entry) => [entry.activity === "validate" ? "validation" : "", entry.model, entry.dataset,
  entry.instances > 1 ? `${entry.instances} instances` : ""].filter(Boolean).join(" · ");
const metricText = (entry) => entry.best
  ? `${entry.best.of_validation ? "" : "training "}${entry.metric.replaceAll("_", " ")}` : "";
const epochText = (entry) => entry.epochs ? `${numberText(entry.epoch)} / ${numberText(entry.epochs)}`
  : entry.epoch ? numberText(entry.epoch) : "";

const listState = (entry) => {
  const mark = stateMark(entry);
  mark.classList.add(entry.state);
  if (entry.problem) mark.title = entry.problem;
  return mark;
};

const progressBar = (entry) => {
  if (entry.state !== "running" || !(entry.epochs > 0)) return null;
  const bar = make("i");
  bar.style.width = Math.min(100, 100 * entry.epoch / entry.epochs) + "%";
  return make("span", {className: "progress", "aria-hidden": "true"}, bar);
};

// What a list is sorted by; `first` is the direction of the first click.
const kSortings = {
  name: {text: "run", value: (entry) => entry.name, first: "ascending"},
  state: {text: "state", value: (entry) => entry.state, first: "ascending"},
  best: {text: "best", value: (entry) => entry.best ? (entry.larger_is_better ? 1 : -1) * entry.best.value : undefined, first: "descending"},
  epoch: {text: "epochs", value: (entry) => entry.epoch, first: "descending"},
  seconds: {text: "time", value: (entry) => entry.seconds, first: "descending"},
  touched_ms: {text: "last news", value: (entry) => entry.touched_ms, first: "descending"},
};

// Entries without a value come last, whatever the direction.
const compareEntries = (sorting, direction) => (a, b) => {
  const x = kSortings[sorting].value(a), y = kSortings[sorting].value(b);
  if (x === undefined || y === undefined) return (x === undefined) - (y === undefined) || a.name.localeCompare(b.name);
  const order = typeof x === "number" ? x - y : x.localeCompare(y, "en", {numeric: true});
  return (direction === "ascending" ? order : -order) || a.name.localeCompare(b.name, "en", {numeric: true});
};

// All words of the text occur in what is shown of the run.
const matchesText = (entry, text) => {
  const shown = `${entry.name} ${entry.model} ${entry.dataset} ${entry.state} ${entry.metric}`.toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => shown.includes(word));
};

class RunRow {
  constructor(entry, list) {
    this.box = make("input", {type: "checkbox"});
    this.box.addEventListener("change", () => list.tick(entry.id, this.box.checked));
    this.link = make("a", {href: runAddress(entry.id)});
    this.what = make("small");
    this.cells = {narrow: make("small", {className: "narrow"}), state: make("td", {className: "wide"}), best: make("td", {className: "number best"}),
      spark: make("td", {className: "spark"}), epoch: make("td", {className: "number wide"}),
      seconds: make("td", {className: "number middle wide"}), age: make("td", {className: "number wide"})};
    this.element = make("tr", {}, make("td", {className: "tick"}, this.box),
      make("th", {className: "name", scope: "row"}, this.link, this.what, this.cells.narrow), this.cells.state, this.cells.best,
      this.cells.spark, this.cells.epoch, this.cells.seconds, this.cells.age);
    this.update(entry);
  }

  update(entry) {
    this.entry = entry;
    this.box.setAttribute("aria-label", "compare " + entry.name);
    this.link.textContent = entry.name;
    this.what.textContent = whatText(entry);
    this.cells.state.replaceChildren(listState(entry));
    this.cells.best.replaceChildren(...(entry.best ? [make("b", {textContent: entry.best.text}),
      make("small", {textContent: metricText(entry)})] : [make("span", {className: "soft", textContent: "–"})]),
    make("span", {className: "narrow"}, sparkline(entry)));
    this.cells.spark.replaceChildren(sparkline(entry));
    this.cells.epoch.replaceChildren(epochText(entry), ...[progressBar(entry)].filter(Boolean));
    this.cells.seconds.textContent = entry.seconds ? secondsText(entry.seconds) : "";
    this.showAge();
  }

  showAge() {
    const age = ageText(this.entry.touched_ms);
    this.cells.age.textContent = age;
    this.cells.age.title = dateText(this.entry.touched_ms);
    this.cells.narrow.replaceChildren(listState(this.entry), " ", [epochText(this.entry), age].filter(Boolean).join(" · "));
  }

  setTicked(ticked) {
    this.box.checked = ticked;
    this.element.classList.toggle("ticked", ticked);
  }
}

class RunTable {
  constructor(onTicks) {
    Object.assign(this, {entries: new Map(), rows: new Map(), ticked: new Set(), onTicks, text: "", state: "", sorting: "touched_ms",
      direction: "descending", most: 100});
    this.search = make("input", {type: "search", placeholder: "filter by name, model, data", "aria-label": "filter runs"});
    this.search.addEventListener("input", () => { this.text = this.search.value.trim(); this.draw(); });
    this.chips = make("div", {className: "chips", role: "group", "aria-label": "filter by state"});
    this.select = make("select", {"aria-label": "sort by", className: "narrow"}, ...Object.entries(kSortings).map(([key, {text}]) =>
      make("option", {value: key, textContent: "sort by " + text, selected: key === this.sorting})));
    this.select.addEventListener("change", () => this.sortBy(this.select.value, kSortings[this.select.value].first));
    this.body = make("tbody");
    this.heads = {};
    const head = (key, className) => {
      const button = make("button", {type: "button", textContent: kSortings[key].text});
      button.addEventListener("click", () => this.sortBy(key));
      return this.heads[key] = make("th", {scope: "col", className}, button);
    };
    this.table = make("table", {className: "runs-table", "aria-label": "runs"}, make("thead", {}, make("tr", {},
      make("td", {className: "tick"}), head("name", ""), head("state", "wide"), head("best", "number"),
      make("th", {scope: "col", className: "spark", textContent: "curve"}), head("epoch", "number wide"),
      head("seconds", "number middle wide"), head("touched_ms", "number wide"))), this.body);
    this.empty = make("div", {className: "empty"});
    this.more = make("button", {type: "button", className: "button quiet"});
    this.more.addEventListener("click", () => { this.most = Infinity; this.draw(); });
    this.count = make("p", {className: "soft small", role: "status"});
    this.element = make("div", {}, make("div", {className: "filters"}, this.search, this.select, this.chips),
      make("div", {className: "runs"}, this.table, this.empty, make("div", {className: "more"}, this.more)), this.count);
    setInterval(() => { for (const row of this.rows.values()) row.showAge(); }, 10000);
  }

  // All runs, or those that have changed.
  setAll(entries) {
    this.entries = new Map(entries.map((entry) => [entry.id, entry]));
    this.forgetMissing();
    this.draw();
  }
  apply(changed, removed) {
    for (const entry of changed) this.entries.set(entry.id, entry);
    for (const id of removed) this.entries.delete(id);
    this.forgetMissing();
    this.draw();
  }
  forgetMissing() {
    for (const id of this.rows.keys()) if (!this.entries.has(id)) this.rows.delete(id);
    const before = this.ticked.size;
    for (const id of this.ticked) if (!this.entries.has(id)) this.ticked.delete(id);
    if (this.ticked.size !== before) this.onTicks();
  }

  tick(id, on) {
    if (on) this.ticked.add(id); else this.ticked.delete(id);
    this.rows.get(id)?.setTicked(on);
    this.onTicks();
  }
  untickAll() { for (const id of [...this.ticked]) this.tick(id, false); }

  sortBy(key, direction) {
    const opposite = this.direction === "ascending" ? "descending" : "ascending";
    this.direction = direction || (this.sorting === key ? opposite : kSortings[key].first);
    this.sorting = key;
    this.select.value = key;
    this.draw();
  }

  drawChips() {
    const counts = {};
    for (const {state} of this.entries.values()) counts[state] = (counts[state] || 0) + 1;
    if (this.state && !counts[this.state]) this.state = "";
    const wanted = JSON.stringify([counts, this.state]);
    if (wanted === this.chipsDrawn) return;  // so that a focused one stays
    this.chipsDrawn = wanted;
    const chip = (state, text, count) => {
      const button = make("button", {type: "button", "aria-pressed": String(this.state === state)}, text + " ", make("b", {textContent: numberText(count)}));
      button.addEventListener("click", () => {
        this.state = state;
        this.draw();
        this.chips.querySelector("[aria-pressed=true]")?.focus();
      });
      return button;
    };
    this.chips.replaceChildren(chip("", "all", this.entries.size), ...["running", "done", "stopped", "failed", "killed", "unknown"]
      .filter((state) => counts[state]).map((state) => chip(state, state, counts[state])));
  }

  rowOf(entry) {
    let row = this.rows.get(entry.id);
    if (!row) this.rows.set(entry.id, row = new RunRow(entry, this));
    else if (row.entry !== entry) row.update(entry);
    row.setTicked(this.ticked.has(entry.id));
    return row.element;
  }

  draw() {
    this.drawChips();
    const shown = [...this.entries.values()].filter((entry) => (!this.state || entry.state === this.state) &&
      matchesText(entry, this.text)).sort(compareEntries(this.sorting, this.direction));
    // Moves only what has another place, so that a focused row keeps the focus.
    const elements = shown.slice(0, this.most).map((entry) => this.rowOf(entry));
    const wanted = new Set(elements);
    for (const old of [...this.body.children]) if (!wanted.has(old)) old.remove();
    elements.forEach((element, i) => {
      if (this.body.children[i] !== element) this.body.insertBefore(element, this.body.children[i] || null);
    });
    for (const [key, head] of Object.entries(this.heads)) {
      if (key === this.sorting) head.setAttribute("aria-sort", this.direction); else head.removeAttribute("aria-sort");
    }
    this.table.classList.toggle("hidden", shown.length === 0);
    this.empty.classList.toggle("hidden", shown.length > 0);
    this.empty.replaceChildren(...(this.entries.size > 0 ? [make("p", {textContent: "No run matches the filter."})]
      : [make("p", {textContent: "No runs yet."}), make("p", {}, "They appear here as soon as they begin: ",
        make("code", {textContent: "pando train"}))]));
    this.more.parentElement.classList.toggle("hidden", shown.length <= this.most);
    this.more.textContent = `show all ${numberText(shown.length)} runs`;
    this.count.textContent = shown.length === this.entries.size ? "" : `${numberText(shown.length)} of ${numberText(this.entries.size)} runs`;
  }
}
