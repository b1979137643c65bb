// One run, or several over each other, with curves that grow. SPDX-License-Identifier: MIT

// Charts are thinned by the board; what a run appends to them since is complete.
const kMostLivePoints = 3000;

// Adds what run `index` has appended to the charts. False: they should be asked for again.
const appendCharts = (charts, added, index) => {
  let fits = true;
  for (const more of added) {
    let chart = charts.find(({title}) => title === more.title);
    if (!chart) charts.push(chart = {...more, curves: []});
    for (const curve of more.curves) {
      const old = chart.curves.find(({run, name}) => run === index && name === curve.name);
      if (!old) { chart.curves.push({...curve, run: index}); continue; }
      for (const axis of Object.keys(curve.x)) old.x[axis] = [...old.x[axis] || [], ...curve.x[axis]];
      old.y = [...old.y, ...curve.y];
      fits = fits && old.y.length <= kMostLivePoints;
    }
  }
  return fits;
};

const entryFigures = (entry) => {
  const figures = [];
  if (entry.best) figures.push(figure(entry.best.text, `best ${metricText(entry)}, epoch ${numberText(entry.best.epoch)}`, true));
  if (isNumber(entry.loss)) figures.push(figure(numberText(entry.loss), "training loss, last"));
  if (epochText(entry)) {
    const epochs = figure(epochText(entry), "epochs");
    epochs.append(...[progressBar(entry)].filter(Boolean));
    figures.push(epochs);
  }
  if (isNumber(entry.throughput)) figures.push(figure(numberText(entry.throughput), "samples per second"));
  if (entry.seconds) figures.push(figure(secondsText(entry.seconds), "time"));
  return figures;
};

const entryTable = (entries) => make("div", {className: "scroll", tabIndex: 0, role: "region", "aria-label": "the runs"},
  make("table", {className: "data", "aria-label": "the runs"}, make("thead", {}, make("tr", {},
    ...["run", "state", "best", "loss", "epochs", "samples/s", "time", "model", "data"].map((name, i) =>
      make("th", {scope: "col", className: i >= 2 && i <= 6 ? "number" : "", textContent: name})))),
  make("tbody", {}, ...entries.map((entry, i) => make("tr", {},
    make("td", {}, make("a", {href: runAddress(entry.id)}, colorKey(entry.name, `var(--c${i % 8})`))), make("td", {}, listState(entry)),
    ...[entry.best ? entry.best.text : "–", numberText(entry.loss), epochText(entry), numberText(entry.throughput),
      entry.seconds ? secondsText(entry.seconds) : "–"].map((text) => make("td", {className: "number", textContent: text})),
    make("td", {textContent: entry.model}), make("td", {textContent: entry.dataset}))))));

class RunView {
  constructor(data) {
    this.ids = data.runs.map((run) => run.id);
    this.head = make("div");
    this.summary = make("div");
    this.curves = make("div");
    this.details = make("div");
    const report = make("a", {className: "button quiet", href: "/report?" + this.ids.map((id) => "run=" + id).join("&"),
      textContent: this.ids.length > 1 ? "one report on all" : "full report"});
    this.top = make("div", {className: "topline"}, make("a", {className: "back", href: "#/", textContent: "← all runs"}));
    this.element = make("div", {}, this.top,
      make("div", {className: "run-head"}, this.head, make("div", {className: "actions"}, report)), this.summary,
      make("section", {className: "part"}, make("h2", {textContent: "Curves"}), this.curves), this.details);
    this.update(data);
  }

  // The same runs, read again.
  update(data) {
    this.entries = data.runs.map((run) => run.entry);
    this.runs = data.runs;
    this.charts = data.charts;
    this.showEntries();
    this.showCharts();
    if (this.runs.length > 1) {
      this.details.replaceChildren(make("section", {className: "part"}, make("h2", {textContent: "Options that differ"}),
        make("div", {className: "card"}, differingTable(data.differing, data.runs))),
      make("section", {className: "part"}, make("h2", {textContent: "Command, machine and end of each run"}), runFolds(data.runs)));
    } else {
      this.details.replaceChildren(make("section", {className: "part"}, make("h2", {textContent: "The run"}), runDetails(data.runs[0]),
        ...problemNotes(data.runs[0])));
    }
  }

  // What the list says about runs has changed.
  apply(changed, removed) {
    this.entries = this.entries.map((entry) => changed.find(({id}) => id === entry.id) || entry);
    if (changed.some(({id}) => this.ids.includes(id))) this.showEntries();
    if (removed.some((id) => this.ids.includes(id))) {
      this.head.append(note("The folder of this run is no longer there; what was read of it stays here.", "bad"));
    }
  }

  showEntries() {
    const [entry] = this.entries;
    if (this.entries.length > 1) {
      this.head.replaceChildren(make("h1", {textContent: `${this.entries.length} runs`}));
      this.summary.replaceChildren(make("div", {className: "card"}, entryTable(this.entries)));
      return;
    }
    this.head.replaceChildren(make("h1", {}, entry.name + " ", listState(entry)),
      make("p", {className: "soft", textContent: whatText(entry)}),
      ...[entry.problem, entry.cause, entry.state === "killed" ? kStateTexts.killed : ""].filter(Boolean)
        .map((text) => note(text, entry.state === "failed" || entry.state === "killed" ? "bad" : "")));
    this.summary.replaceChildren(make("div", {className: "figures"}, ...entryFigures(entry)));
  }

  showCharts() {
    if (this.charts.length === 0) {
      this.panel = null;
      this.curves.replaceChildren(note("No values yet. They appear here as the run logs them."));
    } else if (this.panel) {
      this.panel.setCharts(this.charts);
    } else {
      this.panel = new CurvePanel(this.charts, this.runs);
      this.curves.replaceChildren(this.panel.element);
    }
  }

  // False: the view should be read again.
  append(news) {
    const fits = appendCharts(this.charts, news.charts, this.ids.indexOf(news.run));
    this.showCharts();
    return fits;
  }
}
