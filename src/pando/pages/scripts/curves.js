// The curves of one run or of several over each other. SPDX-License-Identifier: MIT
//
// charts: [{title, unit, log, zero, curves: [{run: 0, name: "training", x: {..}, y: [..]}]}].

// The colours tell runs apart, and dashes the further curves of a run; with one run only, the colours
// tell what is shown.
const drawnCurves = (curves, runs) => curves.map((curve, index) => runs.length > 1
  ? {...curve, name: curve.name ? `${runs[curve.run].name} · ${curve.name}` : runs[curve.run].name, color: curve.run,
    dashed: curves.findIndex((other) => other.run === curve.run) !== index}
  : {...curve, name: curve.name || "value", color: index});

// The axes that some curve has values for.
const axesOf = (charts) => ["epoch", "step", "seconds"].filter((axis) =>
  charts.some((chart) => chart.curves.some((curve) => curve.x[axis]?.some(isNumber))));

class CurvePanel {
  constructor(charts, runs) {
    this.runs = runs;
    this.hidden = new Set();
    const axes = axesOf(charts);
    this.axis = axes[0] || "epoch";
    this.controls = make("div", {className: "controls"}, "over",
      choice("horizontal axis", axes.map((axis) => [axis, kAxes[axis]]), (axis) => this.setAxis(axis), this.axis));
    if (runs.length > 1) this.controls.append(...runs.map((run, index) => this.toggle(run, index)));
    this.grid = make("div", {className: "grid"});
    this.element = make("div", {}, this.controls, this.grid,
      make("p", {className: "hint", textContent: "Drag across a chart to zoom in; a double click shows the whole range again."}));
    this.charts = [];
    this.setCharts(charts);
  }

  toggle(run, index) {
    const button = make("button", {type: "button", "aria-pressed": "true"}, colorKey(run.name, `var(--c${index % 8})`));
    button.addEventListener("click", () => {
      const hide = !this.hidden.has(index);
      if (hide) this.hidden.add(index); else this.hidden.delete(index);
      button.setAttribute("aria-pressed", String(!hide));
      for (const {chart, curves} of this.charts) {
        curves.forEach((curve, i) => { if (curve.run === index) chart.setShown(i, !hide); });
      }
    });
    return button;
  }

  drawn(curves) {
    return drawnCurves(curves, this.runs).map((curve) => ({...curve, hidden: this.hidden.has(curve.run)}));
  }

  setAxis(axis) {
    this.axis = axis;
    for (const {chart} of this.charts) chart.setAxis(axis);
  }

  // Also for a run that goes on: charts keep their zoom.
  setCharts(charts) {
    const titles = (list) => list.map((chart) => chart.title).join("\n");
    if (titles(charts) === titles(this.charts)) {
      this.charts.forEach((entry, i) => {
        entry.curves = charts[i].curves;
        entry.chart.setCurves(this.drawn(charts[i].curves));
      });
      return;
    }
    this.charts = charts.map((chart) => ({title: chart.title, curves: chart.curves,
      chart: new CurveChart({...chart, curves: this.drawn(chart.curves), axis: this.axis})}));
    this.grid.replaceChildren(...this.charts.map(({chart}) => chart.element));
  }
}
