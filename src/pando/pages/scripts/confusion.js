// The classes of a validation: a confusion matrix whose cells show their samples, the most confident
// mistakes, and a table of classes. SPDX-License-Identifier: MIT
//
// classes: {names, samples, accuracy, classes: [[support, precision, recall, f1]],
// cells: [[label, predicted, count]], shown: {sheet, columns, tile, samples: [[index, label, predicted, confidence]]}}.

const kMostMatrixClasses = 32; // more do not fit on a screen: their mistakes are a table
const kConfidentMistakes = 24;

class ClassPanel {
  constructor(data) {
    this.data = data;
    this.names = data.names;
    const shown = data.shown?.samples || [];
    this.sheet = data.shown ? new PictureSheet(data.shown, shown.length) : null;
    this.samples = shown.map(([index, label, predicted, confidence], picture) => ({
      index,
      label,
      predicted,
      confidence,
      picture,
    }));
    this.counts = new Map(data.cells.map(([label, predicted, count]) => [label + ":" + predicted, count]));
    this.cell = make("div", {className: "card", "aria-live": "polite"});
    const small = this.names.length <= kMostMatrixClasses;
    this.element = make(
      "div",
      {},
      make(
        "div",
        {className: small ? "pair wide" : ""},
        make("div", {className: "card"}, small ? this.matrix() : null, small ? null : this.mistakeTable()),
        this.cell,
      ),
      this.confident(),
      make("div", {className: "card"}, make("h3", {textContent: "Classes"}), this.classTable()),
      small
        ? make("div", {className: "card"}, make("h3", {textContent: "Most frequent mistakes"}), this.mistakeTable())
        : null,
    );
    const worst = this.mistakes()[0] || data.cells[0];
    if (worst) this.show(worst[0], worst[1]);
  }

  count(label, predicted) {
    return this.counts.get(label + ":" + predicted) || 0;
  }
  support(label) {
    return this.data.classes[label]?.[0] || 0;
  }
  mistakes() {
    return this.data.cells.filter(([label, predicted]) => label !== predicted);
  }

  matrix() {
    const all = this.names.map((name, index) => index);
    const head = make(
      "tr",
      {},
      make("td"),
      ...all.map((index) =>
        make("th", {scope: "col", title: this.names[index]}, make("span", {textContent: this.names[index]})),
      ),
    );
    this.buttons = new Map();
    const rows = all.map((label) =>
      make(
        "tr",
        {},
        make("th", {scope: "row", textContent: this.names[label]}),
        ...all.map((predicted) => make("td", {}, this.matrixCell(label, predicted))),
      ),
    );
    const table = make(
      "table",
      {className: "confusion", "aria-label": "confusion matrix"},
      make("thead", {}, head),
      make("tbody", {}, ...rows),
    );
    table.addEventListener("keydown", (event) => this.move(event));
    return make(
      "div",
      {},
      make("h3", {textContent: "Confusion matrix"}),
      make("p", {
        className: "soft small",
        textContent: "A row for each true class, a column for each predicted one. Choose a cell to see its samples.",
      }),
      make("div", {className: "scroll tall", tabIndex: 0, role: "region", "aria-label": "confusion matrix"}, table),
    );
  }

  matrixCell(label, predicted) {
    const count = this.count(label, predicted),
      share = count / Math.max(this.support(label), 1);
    const text = `${this.names[label]} predicted as ${this.names[predicted]}: ${count} (${percentText(share)})`;
    const button = make("button", {
      type: "button",
      textContent: count || "",
      title: text,
      "aria-label": text,
      tabIndex: this.buttons.size === 0 ? 0 : -1,
      className: label === predicted ? "hit" : "miss",
    });
    // The root makes rare mistakes visible.
    button.style.setProperty("--share", Math.sqrt(share).toFixed(3));
    button.addEventListener("click", () => this.show(label, predicted));
    this.buttons.set(label + ":" + predicted, button);
    return button;
  }

  // One stop of the tab key for the whole matrix; arrows move in it.
  move(event) {
    const steps = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
    const at = [...this.buttons].find(([, button]) => button === document.activeElement);
    if (!steps || !at) return;
    const [label, predicted] = at[0].split(":").map(Number);
    const next = this.buttons.get(`${label + steps[0]}:${predicted + steps[1]}`);
    if (!next) return;
    event.preventDefault();
    this.focusOn(next);
    next.focus();
  }

  focusOn(button) {
    for (const other of this.buttons.values()) other.tabIndex = other === button ? 0 : -1;
  }

  show(label, predicted) {
    for (const [key, button] of this.buttons || []) button.classList.toggle("chosen", key === label + ":" + predicted);
    if (this.buttons) this.focusOn(this.buttons.get(label + ":" + predicted));
    const count = this.count(label, predicted),
      hit = label === predicted;
    const kept = this.samples.filter((sample) => sample.label === label && sample.predicted === predicted);
    const title = hit
      ? `${this.names[label]}, recognised`
      : `${this.names[label]} predicted as ${this.names[predicted]}`;
    const pictures =
      this.sheet && kept.length > 0
        ? pictureRow(
            this.sheet,
            kept.map((sample) => this.entry(sample, false)),
          )
        : note(count === 0 ? "No sample." : "The run keeps no picture of these samples.");
    this.cell.replaceChildren(
      make("h3", {textContent: title}),
      make("p", {
        className: "soft small",
        textContent:
          `${numberText(count)} of ${numberText(this.support(label))} samples ` +
          `(${percentText(count / Math.max(this.support(label), 1))})` +
          (kept.length > 0 && kept.length < count ? `; the ${kept.length} that the network was most sure of` : ""),
      }),
      pictures,
    );
  }

  entry(sample, full) {
    const names = full ? [this.names[sample.label], "taken for " + this.names[sample.predicted]] : [];
    return {
      index: sample.picture,
      label:
        `validation sample ${sample.index}: ${this.names[sample.label]}, ` +
        `predicted as ${this.names[sample.predicted]}`,
      lines: [...names, percentText(sample.confidence) + " sure"],
    };
  }

  confident() {
    const wrong = this.samples
      .filter((sample) => sample.label !== sample.predicted)
      .sort((a, b) => b.confidence - a.confidence)
      .slice(0, kConfidentMistakes);
    if (wrong.length === 0 || !this.sheet) return null;
    return make(
      "div",
      {className: "card"},
      make("h3", {textContent: "Most confident mistakes"}),
      make("p", {
        className: "soft small",
        textContent:
          "Wrong, and the network was most sure of them: wrong labels and classes that look alike are found here first.",
      }),
      pictureRow(
        this.sheet,
        wrong.map((sample) => this.entry(sample, true)),
      ),
    );
  }

  classTable() {
    const others = new Map();
    for (const [label, predicted, count] of this.mistakes())
      if (!others.has(label)) others.set(label, [predicted, count]);
    const rows = this.data.classes.map(([support, precision, recall, f1], label) => ({
      label,
      name: this.names[label],
      support,
      precision,
      recall,
      f1,
      other: others.get(label),
    }));
    const share = (name, key) => ({
      name,
      number: true,
      value: (row) => row[key],
      show: (row) => make("span", {}, percentText(row[key]), shareBar(row[key])),
    });
    return new DataTable(
      [
        {name: "class", value: (row) => row.name},
        {name: "samples", number: true, value: (row) => row.support, show: (row) => numberText(row.support)},
        share("precision", "precision"),
        share("recall", "recall"),
        share("F1", "f1"),
        {
          name: "most often taken for",
          value: (row) => (row.other ? this.names[row.other[0]] : ""),
          show: (row) => (row.other ? `${this.names[row.other[0]]} (${row.other[1]})` : ""),
        },
      ],
      rows,
      {caption: "classes", sort: 4, descending: false},
    ).element;
  }

  mistakeTable() {
    const rows = this.mistakes().slice(0, 1000);
    if (rows.length === 0) return note("There is no mistake.");
    const open = ([label, predicted]) => {
      const button = make("button", {type: "button", className: "plain", textContent: this.names[label]});
      button.addEventListener("click", () => {
        this.show(label, predicted);
        this.cell.scrollIntoView({block: "nearest"});
      });
      return button;
    };
    return new DataTable(
      [
        {name: "true class", value: (row) => this.names[row[0]], show: open},
        {name: "predicted as", value: (row) => this.names[row[1]]},
        {name: "samples", number: true, value: (row) => row[2]},
        {
          name: "of the class",
          number: true,
          value: (row) => row[2] / Math.max(this.support(row[0]), 1),
          show: (row) => percentText(row[2] / Math.max(this.support(row[0]), 1)),
        },
      ],
      rows,
      {caption: "most frequent mistakes", most: 20},
    ).element;
  }
}
