// The roofline: how fast each op computed, over its work per byte, below what the machine can do.
// Drawn by uPlot. SPDX-License-Identifier: MIT

// Ops with arithmetic, as {x: flops per byte, y: GFLOP/s of a worker}.
const rooflinePoints = (time, part) =>
  time.ops
    .filter((op) => op.part === part && op.flops > 0 && op.bytes > 0 && op.seconds > 0)
    .map((op) => ({x: op.flops / op.bytes, y: op.gflops_per_worker, name: `${op.op} ${op.name}`, share: op.share}));

// Without a measured rate of the memory, the best one that an op reached stands for it.
const rooflineData = (time) => {
  const parts = [
    ["forward", 0],
    ["backward", 1],
  ].map(([name, fill]) => ({name, fill, points: rooflinePoints(time, name)}));
  const all = parts.flatMap((part) => part.points);
  const peak = time.peak?.gflops ? time.peak.gflops / time.peak.threads : Math.max(...all.map((point) => point.y));
  const measured = time.peak?.memory_gb_per_second > 0;
  const rate = measured
    ? time.peak.memory_gb_per_second / time.peak.threads
    : Math.max(...time.ops.filter((op) => op.seconds > 0).map((op) => (op.bytes / op.seconds) * 1e-9));
  const low = Math.min(...all.map((point) => point.x)) / 2,
    high = Math.max(...all.map((point) => point.x), peak / rate) * 2;
  const roof = [low, peak / rate, high].map((x) => ({x, y: Math.min(peak, rate * x)}));
  return {parts, roof, peak, rate, measured, names: new Map(all.map((point) => [point.x, point]))};
};

class Roofline {
  constructor(time) {
    this.data = rooflineData(time);
    this.plot = make("div", {
      className: "plot",
      role: "img",
      "aria-label":
        `roofline: at most ${numberText(this.data.peak)} GFLOP/s of a worker; ` +
        "the table of ops has the same values",
    });
    this.hint = make("div", {className: "hint", textContent: "Point at an op for its name."});
    this.element = make("div", {}, this.plot, this.hint);
    onNewColors(() => this.chart?.redraw());
    new ResizeObserver(() => this.fit()).observe(this.plot);
  }

  fit() {
    const width = Math.floor(this.plot.clientWidth);
    if (width < kRegionWidth) return;
    if (this.chart) this.chart.setSize({width, height: 300});
    else this.draw(width);
  }

  draw(width) {
    const {parts, roof} = this.data;
    const column = (points) => {
      const sorted = [...points].sort((a, b) => a.x - b.x);
      return [sorted.map((point) => point.x), sorted.map((point) => point.y)];
    };
    const aligned = uPlot.join([column(roof), ...parts.map((part) => column(part.points))]);
    const soft = () => color("--soft"),
      line = () => color("--faint");
    const look = {
      stroke: soft,
      grid: {stroke: line, width: 1},
      ticks: {stroke: line, width: 1, size: 4},
      font: "12px system-ui, sans-serif",
    };
    const ticks = (u, values) => values.map((value) => (value === null ? "" : numberText(value)));
    const value = (unit) => (u, number) => (number === null || number === undefined ? "–" : numberText(number) + unit);
    this.chart = new uPlot(
      {
        width,
        height: 300,
        padding: [8, 26, 0, 0],
        legend: {live: true},
        cursor: {drag: {x: false, y: false}},
        scales: {x: {time: false, distr: 3}, y: {distr: 3}},
        axes: [
          {
            ...look,
            size: 44,
            label: "floating-point operations per byte",
            labelFont: look.font,
            labelSize: 18,
            values: ticks,
          },
          {...look, size: 62, label: "GFLOP/s of a worker", labelFont: look.font, labelSize: 18, values: ticks},
        ],
        series: [
          {label: "per byte", value: value("")},
          {label: "roof", stroke: soft, width: 1.5, spanGaps: true, points: {show: false}, value: value(" GFLOP/s")},
          ...parts.map((part) => ({
            label: part.name,
            stroke: () => seriesColor(part.fill),
            paths: () => null,
            value: value(" GFLOP/s"),
            points: {show: true, size: 9, fill: () => seriesColor(part.fill), stroke: () => color("--card"), width: 1},
          })),
        ],
        hooks: {setCursor: [(u) => this.tell(u)]},
      },
      aligned,
      this.plot,
    );
  }

  tell(chart) {
    const point = this.data.names.get(chart.data[0][chart.cursor.idx]);
    this.hint.textContent = point
      ? `${point.name}: ${numberText(point.y)} GFLOP/s, ${percentText(point.share)} of the time`
      : "Point at an op for its name.";
  }
}

const rooflineChart = (time) => {
  if (!time.ops.some((op) => op.flops > 0 && op.seconds > 0)) return null;
  const chart = new Roofline(time),
    {peak, rate, measured, parts} = chart.data,
    above = time.ops.some((op) => op.gflops_per_worker > peak),
    cached = measured && parts.some((part) => part.points.some((point) => point.y > rate * point.x));
  return make(
    "div",
    {className: "card chart"},
    make("h3", {textContent: "Roofline"}),
    chart.element,
    make("p", {
      className: "soft small",
      textContent:
        `The flat part is the ${time.peak?.gflops ? "measured peak of a core" : "fastest op"}, ` +
        `${numberText(peak)} GFLOP/s; the slope is ${measured ? "the measured rate of the memory, for one of the workers" : "the best rate of memory that an op reached"}, ` +
        `${numberText(rate)} GB/s. An op far below the roof has room to become faster.` +
        (above ? " One above the flat part needs fewer operations than are counted, as Winograd convolutions do." : "") +
        (cached ? " One above the slope finds its data in the caches." : ""),
    }),
  );
};
