// Where the time of the workers went: kinds of work and waits, layers, ops. SPDX-License-Identifier: MIT

const kPhaseLabels = {
  forward: "forward",
  backward: "backward",
  weight_update: "weight update",
  packing: "packing of weights",
  feeding_and_handing_over: "feeding and handing over",
  feed_wait: "waiting for data",
  data_wait: "waiting for another stage",
  barrier_wait: "waiting for other workers",
  exchange_wait: "waiting for other instances",
  between_executions: "between executions",
};
const kPhaseColors = {
  forward: "--c0",
  backward: "--c1",
  weight_update: "--c2",
  packing: "--c4",
  feeding_and_handing_over: "--c6",
};

// One bar of all workers' time, with its parts in a list below.
const phaseBar = (seconds) => {
  const parts = Object.entries(seconds).filter(([, value]) => value > 0),
    all = parts.reduce((sum, [, value]) => sum + value, 0);
  const fill = (name) =>
    kPhaseColors[name] ? `var(${kPhaseColors[name]})` : name === "between_executions" ? "var(--faint)" : "var(--wait)";
  const bar = make(
    "div",
    {className: "stack", "aria-hidden": "true"},
    ...parts.map(([name, value]) => {
      const piece = make("i", {title: `${kPhaseLabels[name] || name}: ${percentText(value / all)}`});
      Object.assign(piece.style, {width: (100 * value) / all + "%", background: fill(name)});
      return piece;
    }),
  );
  return make(
    "div",
    {},
    bar,
    new DataTable(
      [
        {
          name: "what the workers did",
          value: (row) => kPhaseLabels[row[0]] || row[0],
          show: (row) => colorKey(kPhaseLabels[row[0]] || row[0], fill(row[0])),
        },
        {name: "share", number: true, value: (row) => row[1], show: (row) => percentText(row[1] / all)},
        {name: "time of all workers", number: true, value: (row) => row[1], show: (row) => secondsText(row[1])},
      ],
      parts,
      {caption: "time of the workers", sort: 1},
    ).element,
  );
};

const timeFigures = (time) =>
  make(
    "div",
    {className: "figures"},
    figure(percentText(time.busy_share), "of the workers' time was work", true),
    figure(percentText(time.feed_wait_share), "waiting for data"),
    figure(numberText(time.gflops) + " GFLOP/s", "computed, without padding"),
    time.peak?.gflops
      ? figure(
          percentText(time.gflops / time.peak.gflops),
          `of the measured peak, ${numberText(time.peak.gflops)} GFLOP/s`,
        )
      : "",
    figure(secondsText(time.span_seconds), `measured, ${numberText(time.steps)} steps`),
  );

const peakColumn = (fraction) => ({
  name: "of peak",
  number: true,
  value: fraction,
  show: (row) => (fraction(row) ? make("span", {}, percentText(fraction(row)), shareBar(fraction(row))) : "–"),
});
const shareColumn = (share) => ({
  name: "share",
  number: true,
  value: share,
  show: (row) => make("span", {}, percentText(share(row)), shareBar(share(row))),
});

const layerTimes = (time) =>
  new DataTable(
    [
      {name: "layer", value: (row) => row.layer},
      shareColumn((row) => row.forward.share + row.backward.share),
      {
        name: "forward",
        number: true,
        value: (row) => row.forward.seconds,
        show: (row) => secondsText(row.forward.seconds),
      },
      {
        name: "backward",
        number: true,
        value: (row) => row.backward.seconds,
        show: (row) => secondsText(row.backward.seconds),
      },
      peakColumn((row) => {
        const seconds = row.forward.seconds + row.backward.seconds,
          flops = row.forward.flops + row.backward.flops;
        return seconds > 0 && time.peak?.gflops
          ? ((flops / seconds) * 1e-9) / (time.peak.gflops / time.peak.threads)
          : 0;
      }),
    ],
    time.layers,
    {caption: "layers by time", sort: 1, most: 30},
  ).element;

const opTimes = (time) =>
  new DataTable(
    [
      {name: "op", value: (row) => `${row.op} ${row.name}`},
      {name: "part", value: (row) => row.part},
      shareColumn((row) => row.share),
      {name: "time", number: true, value: (row) => row.seconds, show: (row) => secondsText(row.seconds)},
      {
        name: "a call",
        number: true,
        value: (row) => row.seconds / row.times,
        show: (row) => secondsText(row.seconds / row.times),
      },
      {
        name: "GFLOP/s",
        number: true,
        value: (row) => row.gflops_per_worker,
        show: (row) => (row.flops ? numberText(row.gflops_per_worker) : "–"),
      },
      peakColumn((row) => row.peak_fraction),
      {name: "kernel", value: (row) => row.kernel},
    ],
    time.ops,
    {caption: "ops by time", sort: 2, most: 25},
  ).element;

// Forward or backward, by the name that a trace has for an op.
const opParts = (profile) => new Map((profile.graph?.ops || []).map((op) => [`${op.op} ${op.name}`, op.part]));

// The times at which a worker begins visits of stages, or ops in a trace without visits.
const visitBegins = (trace, events) => {
  const all = Array.from({length: events.length / kEventSize}, (_, i) => i * kEventSize);
  const visits = all.filter((i) => trace.kinds[events[i + 3]] === "phase");
  return (visits.length > 4 ? visits : all).map((i) => events[i]);
};

// Shows some visits in the middle first: the whole is too dense to read.
const workerChart = (profile) => {
  const chart = new GanttChart(profile.trace, {parts: opParts(profile)});
  const begins = visitBegins(profile.trace, chart.tracks[0].events),
    middle = Math.floor(begins.length / 2);
  const gaps = begins
    .slice(1)
    .map((begin, i) => begin - begins[i])
    .sort((a, b) => a - b);
  const usual = gaps[Math.floor(gaps.length / 2)] || (chart.last - chart.first) / 4;
  // A weight update of a pipeline, or some visits of all layers.
  const {time} = profile,
    shownSpan = chart.stages > 1 && time?.updates ? (1.2e7 * time.span_seconds) / time.updates : 4 * usual;
  if (begins.length > 4) chart.show(begins[middle] - 0.05 * shownSpan, begins[middle] + 0.95 * shownSpan);
  const {shown, recorded} = profile.trace;
  return make(
    "div",
    {className: "card"},
    make("h3", {textContent: "What every worker did"}),
    chart.element,
    shown < recorded
      ? note(
          `The first ${numberText(shown)} of ${numberText(recorded)} events are in this page; the trace file has all of them.`,
        )
      : null,
  );
};

const timePart = (profile) => {
  const {time, trace} = profile;
  if (!time && !trace) return null;
  const card = (title, ...children) => make("div", {className: "card"}, make("h3", {textContent: title}), ...children);
  return make(
    "div",
    {},
    time ? timeFigures(time) : null,
    time?.dropped_events
      ? note(
          `${numberText(time.dropped_events)} later events did not fit into memory: the figures are of the time before.`,
        )
      : null,
    trace ? workerChart(profile) : null,
    schedulePart(profile),
    time
      ? make("div", {className: "grid"}, card("Work and waits", phaseBar(time.phase_seconds)), rooflineChart(time))
      : null,
    time ? card("Layers by time", layerTimes(time)) : null,
    time ? card("Ops by time", opTimes(time)) : null,
  );
};
