// What a validation of other tasks than classification found: targets of a regression, labels of
// which a sample may have several, classes of pixels. SPDX-License-Identifier: MIT

const scoreColumn = (name, value) => ({
  name,
  number: true,
  value,
  show: (row) => (isNumber(value(row)) ? make("span", {}, percentText(value(row)), shareBar(value(row))) : "–"),
});
const figureColumn = (name, value) => ({name, number: true, value, show: (row) => numberText(value(row))});

// Predicted over true values of one target: [[true, predicted]]. Drawn by uPlot.
class TargetChart {
  constructor(title, points) {
    this.points = points.filter(([x, y]) => isNumber(x) && isNumber(y)).sort((a, b) => a[0] - b[0]);
    this.plot = make("div", {
      className: "plot",
      role: "img",
      "aria-label": `${title}: predicted over true values of ${this.points.length} samples; the table has their errors`,
    });
    this.element = make("div", {className: "card chart"}, make("h3", {textContent: title}), this.plot);
    onNewColors(() => this.chart?.redraw());
    new ResizeObserver(() => this.fit()).observe(this.plot);
  }

  fit() {
    const width = Math.floor(this.plot.clientWidth);
    if (width < kRegionWidth || this.points.length === 0) return;
    if (this.chart) this.chart.setSize({width, height: 260});
    else this.draw(width);
  }

  // uPlot wants every x once; equal ones are moved apart by less than a pixel.
  columns() {
    const low = this.points[0][0],
      high = this.points[this.points.length - 1][0],
      step = (high - low || 1) * 1e-7;
    const x = [];
    for (const [value] of this.points) x.push(x.length > 0 && value <= x[x.length - 1] ? x[x.length - 1] + step : value);
    return uPlot.join([
      [[low, Math.max(high, low + step)], [low, high]],
      [x, this.points.map((point) => point[1])],
    ]);
  }

  draw(width) {
    const soft = () => color("--soft"),
      line = () => color("--faint");
    const font = "12px system-ui, sans-serif";
    const look = {stroke: soft, grid: {stroke: line, width: 1}, ticks: {stroke: line, width: 1, size: 4}, font, labelFont: font, labelSize: 18};
    const ticks = (u, values) => values.map((value) => (value === null ? "" : numberText(value)));
    const value = (u, number) => (number === null || number === undefined ? "–" : numberText(number));
    this.chart = new uPlot(
      {
        width,
        height: 260,
        padding: [8, 16, 0, 0],
        legend: {live: true},
        cursor: {drag: {x: false, y: false}},
        scales: {x: {time: false, range: (u, low, high) => uPlot.rangeNum(low, high, 0.05, true)}},
        axes: [
          {...look, size: 34, label: "true", values: ticks},
          {...look, size: 56, label: "predicted", values: ticks},
        ],
        series: [
          {label: "true", value},
          {label: "perfect", stroke: soft, width: 1.5, dash: [6, 4], spanGaps: true, points: {show: false}, value},
          {
            label: "predicted",
            stroke: () => seriesColor(0),
            paths: () => null,
            value,
            points: {show: true, size: 5, fill: () => seriesColor(0), stroke: () => seriesColor(0)},
          },
        ],
      },
      this.columns(),
      this.plot,
    );
  }
}

const targetPanel = (data) => {
  const drawn = data.targets.map((target, index) => [target, `Target ${index}`]).filter(([target]) => target.points.length > 0);
  const rows = data.targets.map((target, index) => ({...target, index}));
  return make(
    "div",
    {},
    make(
      "div",
      {className: "card"},
      make("h3", {textContent: "Errors"}),
      make("p", {
        className: "soft small",
        textContent:
          `${numberText(data.samples)} validation samples. A network that always gave the mean of the true values would ` +
          "have the error of the mean; R² is 1 if every prediction is perfect and 0 if they are no better than that.",
      }),
      new DataTable(
        [
          {name: "target", number: true, value: (row) => row.index},
          figureColumn("mean error", (row) => row.mean_error),
          figureColumn("error of the mean", (row) => row.error_of_mean),
          figureColumn("root mean square error", (row) => row.root_error),
          figureColumn("R²", (row) => row.r2),
        ],
        rows,
        {caption: "errors of the targets"},
      ).element,
    ),
    make("div", {className: "grid"}, ...drawn.map(([target, title]) => new TargetChart(title, target.points).element)),
    drawn.length < data.targets.length ? note(`The first ${drawn.length} of ${data.targets.length} targets are drawn.`) : null,
  );
};

// A row is [predicted, true, precision, recall, f1].
const labelPanel = (data) => {
  const rows = data.classes.map((row, label) => ({row, name: data.names[label]}));
  return make(
    "div",
    {},
    make(
      "div",
      {className: "figures"},
      figure(percentText(data.right / Math.max(data.samples, 1)), `of ${numberText(data.samples)} samples are right in all labels`),
      figure(percentText(data.all[2]), "precision, all labels together"),
      figure(percentText(data.all[3]), "recall, all labels together"),
      figure(percentText(data.all[4]), "F1, all labels together"),
    ),
    make(
      "div",
      {className: "card"},
      make("h3", {textContent: "Labels"}),
      make("p", {className: "soft small", textContent: "A label is predicted if the network gives it at least 50 %."}),
      new DataTable(
        [
          {name: "label", value: ({name}) => name},
          figureColumn("samples", ({row}) => row[1]),
          figureColumn("predicted", ({row}) => row[0]),
          scoreColumn("precision", ({row}) => row[2]),
          scoreColumn("recall", ({row}) => row[3]),
          scoreColumn("F1", ({row}) => row[4]),
        ],
        rows,
        {caption: "labels", sort: 5, descending: false},
      ).element,
    ),
  );
};

// The colour of class 0, mostly the background, is not painted.
const classKey = (data, label) => (label === 0 ? data.names[0] : colorKey(data.names[label], data.colours[label]));

const overlapTable = (data) => {
  const others = new Map();
  for (const [label, predicted, count] of data.cells)
    if (label !== predicted && !others.has(label)) others.set(label, [predicted, count]);
  const rows = data.classes.map(([pixels, iou, precision, recall], label) => ({label, pixels, iou, precision, recall}));
  const other = (row) => {
    const found = others.get(row.label);
    return found ? `${data.names[found[0]]} (${percentText(found[1] / Math.max(row.pixels, 1))})` : "";
  };
  return new DataTable(
    [
      {name: "class", value: (row) => data.names[row.label], show: (row) => classKey(data, row.label)},
      {name: "of the pixels", number: true, value: (row) => row.pixels / Math.max(data.pixels, 1), show: (row) => percentText(row.pixels / Math.max(data.pixels, 1))},
      scoreColumn("overlap (IoU)", (row) => row.iou),
      scoreColumn("precision", (row) => row.precision),
      scoreColumn("recall", (row) => row.recall),
      {name: "most often taken for", value: other},
    ],
    rows,
    {caption: "classes", sort: 2, descending: false},
  ).element;
};

// Three pictures of each sample side by side, also on a phone.
const segmentedSamples = (data, sheet, best) => {
  const size = Math.min(150, Math.floor((document.documentElement.clientWidth - 80) / 3));
  return data.shown.samples
    .map(([index, iou, isBest], row) => ({index, iou, isBest, row}))
    .filter((sample) => sample.isBest === best)
    .map((sample) =>
      make(
        "figure",
        {className: "segmented"},
        make(
          "div",
          {},
          ...["picture", "labels", "predicted"].map((what, i) =>
            make("span", {}, sheet.picture(3 * sample.row + i, `${what} of validation sample ${sample.index}`, {size, fits: true}), make("span", {className: "soft small", textContent: what})),
          ),
        ),
        make("figcaption", {textContent: `sample ${sample.index}: overlap ${percentText(sample.iou)}`}),
      ),
    );
};

const segmentationPanel = (data) => {
  const sheet = data.shown ? new PictureSheet(data.shown, 3 * data.shown.samples.length) : null;
  const pictures = (title, best) => {
    const all = sheet ? segmentedSamples(data, sheet, best) : [];
    return all.length > 0 ? make("div", {className: "card"}, make("h3", {textContent: title}), make("div", {className: "segmented-row"}, ...all)) : null;
  };
  return make(
    "div",
    {},
    make(
      "div",
      {className: "figures"},
      figure(percentText(data.mean_iou), "mean overlap (IoU) of the classes"),
      figure(percentText(data.accuracy), `of ${numberText(data.pixels)} labelled pixels are right`),
      figure(numberText(data.samples), "validation samples"),
    ),
    make("div", {className: "card"}, make("h3", {textContent: "Classes"}), overlapTable(data)),
    pictures("Worst pictures", false),
    pictures("Best pictures", true),
  );
};

const kTaskPanels = {
  classification: (data) => new ClassPanel(data).element,
  multilabel: labelPanel,
  regression: targetPanel,
  segmentation: segmentationPanel,
};
