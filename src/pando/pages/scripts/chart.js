// A chart of curves over steps, epochs or time, drawn by uPlot: values under the pointer, zoom, a
// table. SPDX-License-Identifier: MIT
//
// A curve is {name, color: 0.., dashed: bool, hidden: bool, x: {step: [], epoch: [], seconds: []}, y: []}; null is
// a gap. All curves of a chart have one unit.

const kAxes = {epoch: "epoch", step: "step", seconds: "time"};
const shownX = (value, axis) => axis === "seconds" ? secondsText(value) : numberText(value);

// Redraws whatever is drawn with colours of the style sheet.
const onNewColors = (redraw) => {
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(query).addEventListener("change", () => redraw());
  }
};

class CurveChart {
  constructor({title, unit = "", curves, axis = "epoch", height = 230, sync = "curves", log = false, zero = false}) {
    Object.assign(this, {title, unit, curves, axis, height, sync, log, zero});
    this.plot = make("div", {className: "plot", role: "img"});
    this.reset = this.tool("whole range", () => this.zoomTo(null));
    this.reset.classList.add("hidden");
    this.scale = this.tool("log", () => this.setLog(!this.log));
    this.scale.setAttribute("aria-pressed", String(log));
    const zoom = this.tool("zoom in", () => this.zoomIn());
    this.table = make("details", {}, make("summary", {textContent: "values"}));
    this.table.addEventListener("toggle", () => this.fillTable());
    this.element = make("div", {className: "card chart"}, make("h3", {}, title,
      make("span", {className: "soft small", textContent: unit === "B" ? "" : unit}),
      make("span", {className: "tools"}, this.scale, zoom, this.reset)), this.plot, this.table);
    onNewColors(() => this.chart?.redraw());
    // Drawn when it has a place in the page, and whenever the place changes its width.
    new ResizeObserver(() => this.fit()).observe(this.plot);
  }

  tool(text, action) {
    const button = make("button", {type: "button", textContent: text, title: `${text}: ${this.title}`});
    button.addEventListener("click", action);
    return button;
  }

  setAxis(axis) { this.axis = axis; this.draw(); }
  setLog(log) { this.log = log; this.scale.setAttribute("aria-pressed", String(log)); this.draw(); }
  // Other or longer curves, such as those of a run that goes on; the zoom stays.
  setCurves(curves) {
    const range = this.zoomed ? [this.chart.scales.x.min, this.chart.scales.x.max] : null;
    const same = this.chart && curves.length === this.curves.length &&
      curves.every((curve, i) => curve.name === this.curves[i].name && curve.color === this.curves[i].color);
    this.curves = curves;
    if (same) this.chart.setData(this.aligned()); else this.draw();
    if (range) this.zoomTo(range);
    if (this.table.open) this.fillTable();
  }
  setShown(index, show) { this.curves[index].hidden = !show; this.chart?.setSeries(index + 1, {show}); }

  fit() {
    const width = Math.floor(this.plot.clientWidth);
    if (width < 40) return;
    if (!this.chart) this.draw();
    else if (this.chart.width !== width) this.chart.setSize({width, height: this.height});
  }

  aligned() {
    if (this.curves.length === 0) return [[0]];
    return uPlot.join(this.curves.map((curve) => {
      // Sorted, because a validation after training has rows of earlier epochs; without repetitions.
      const points = new Map();
      const x = curve.x[this.axis] || [];
      curve.y.forEach((y, i) => { if (x[i] !== null && x[i] !== undefined) points.set(x[i], y); });
      const sorted = [...points.keys()].sort((a, b) => a - b);
      return [sorted, sorted.map((at) => this.log && !(points.get(at) > 0) ? null : points.get(at))];
    }));
  }

  draw() {
    this.chart?.destroy();
    this.plot.replaceChildren();
    this.zoomed = false;
    this.reset.classList.add("hidden");
    const width = Math.floor(this.plot.clientWidth);
    if (width < 40) { this.chart = null; return; }
    const data = this.aligned();
    this.plot.setAttribute("aria-label", `${this.title} over ${kAxes[this.axis]}: ` +
      this.curves.map((curve) => `${curve.name}, last ${unitText(curve.y.findLast(isNumber), this.unit)}`).join("; "));
    this.chart = new uPlot(this.options(width), data, this.plot);
  }

  options(width) {
    const soft = () => color("--soft"), line = () => color("--faint");
    const look = {stroke: soft, grid: {stroke: line, width: 1}, ticks: {stroke: line, width: 1, size: 4}, font: "12px system-ui, sans-serif"};
    const bytes = this.unit === "B", powers = bytes ? Array.from({length: 50}, (_, i) => 2 ** i) : undefined;
    return {
      width, height: this.height, padding: [8, 12, 0, 0],
      cursor: {drag: {x: true, y: false, dist: 4}, sync: {key: this.sync + this.axis, scales: ["x", null]},
        points: {size: 7}},
      legend: {live: true, markers: {stroke: (u, i) => `var(--c${(this.curves[i - 1]?.color || 0) % 8})`,
        dash: (u, i) => this.curves[i - 1]?.dashed ? "dotted" : "solid"}},
      scales: {x: {time: false},
        y: this.log ? {distr: 3} : {range: (u, low, high) => uPlot.rangeNum(this.zero ? Math.min(0, low) : low, high ?? 1, 0.1, true)}},
      axes: [{...look, size: 34, space: 60, values: (u, ticks) => ticks.map((tick) => shownX(tick, this.axis))},
        {...look, size: 62, incrs: powers, values: (u, ticks) => ticks.map((tick) => tick === null ? "" : bytes ? bytesText(tick) : numberText(tick))}],
      series: [{label: kAxes[this.axis], value: (u, value) => value === null ? "–" : shownX(value, this.axis)},
        ...this.curves.map((curve) => this.series(curve))],
      hooks: {setScale: [(u, key) => { if (key === "x") this.noteZoom(u); }]},
    };
  }

  series(curve) {
    const stroke = () => seriesColor(curve.color || 0);
    const few = curve.y.filter(isNumber).length <= 60;
    return {label: curve.name, show: !curve.hidden, stroke, width: 1.75, dash: curve.dashed ? [6, 4] : undefined, spanGaps: true,
      points: {show: few, size: 5, fill: stroke, stroke},
      value: (u, value) => value === null || value === undefined ? "–" : unitText(value, this.unit)};
  }

  noteZoom(chart) {
    const x = chart.data[0], scale = chart.scales.x;
    this.zoomed = x.length > 1 && (scale.min > x[0] || scale.max < x[x.length - 1]);
    this.reset.classList.toggle("hidden", !this.zoomed);
  }

  zoomTo(range) {
    const x = this.chart?.data[0];
    if (!x || x.length < 2) return;
    this.chart.setScale("x", range ? {min: range[0], max: range[1]} : {min: x[0], max: x[x.length - 1]});
  }

  // The middle half of what is shown.
  zoomIn() {
    if (!this.chart) return;
    const {min, max} = this.chart.scales.x, quarter = (max - min) / 4;
    this.zoomTo([min + quarter, max - quarter]);
  }

  fillTable() {
    this.table.querySelector("div")?.remove();
    if (!this.table.open) return;
    const data = this.aligned();
    const rows = data[0].map((x, i) => [x, ...data.slice(1).map((column) => column[i])]);
    const columns = [{name: kAxes[this.axis], number: true, value: (row) => row[0], show: (row) => shownX(row[0], this.axis)},
      ...this.curves.map((curve, k) => ({name: curve.name, number: true, value: (row) => row[k + 1],
        show: (row) => isNumber(row[k + 1]) ? unitText(row[k + 1], this.unit) : ""}))];
    this.table.append(new DataTable(columns, rows, {caption: this.title + ", values"}).element);
  }
}
