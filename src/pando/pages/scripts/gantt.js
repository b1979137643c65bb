// What every worker did and when, as a Gantt chart: zoom, colours by kind of work or by stage of a
// pipeline; where nothing is drawn, a worker was idle. SPDX-License-Identifier: MIT
//
// trace: {names, kinds, tracks: [{name, device, events: [begin, duration, name, kind, stage, micro_batch, ...]}]},
// times in tenths of a microsecond, stage 2 * s + 1 for backward.

const kEventSize = 6,
  kTrackHeight = 26,
  kAxisHeight = 22,
  kLabelWidth = 92;
const kWorkKinds = [
  ["forward", "--c0"],
  ["backward", "--c1"],
  ["weight update", "--c2"],
  ["packing", "--c4"],
  ["host", "--c6"],
  ["exchange", "--c3"],
  ["waiting", "--wait"],
];
const kKindNames = {
  update: "weight update",
  prologue: "packing",
  host: "host",
  exchange: "exchange",
  feed_wait: "waiting",
  data_wait: "waiting",
  barrier_wait: "waiting",
  exchange_wait: "waiting",
};

// Milliseconds with as many digits as neighbours need to differ.
const tickText = (tick, step) => {
  const digits = Math.max(0, Math.min(4, -Math.floor(Math.log10((step || 1e4) / 1e4) + 1e-9)));
  return (
    grouped((tick / 1e4).toFixed(digits).split(".")[0]) +
    (digits ? "." + (tick / 1e4).toFixed(digits).split(".")[1] : "") +
    " ms"
  );
};

class GanttChart {
  // `parts` tells forward from backward by the name of an op, for programs without stages.
  constructor(trace, {parts = new Map(), label = "what every worker did", begin, end} = {}) {
    Object.assign(this, {trace, parts});
    this.tracks = trace.tracks.map((track) => ({...track, events: Float64Array.from(track.events)}));
    const ends = this.tracks.map(({events}) =>
      events.length ? [events[0], events[events.length - 6] + events[events.length - 5]] : [0, 1],
    );
    this.first = begin ?? Math.min(...ends.map(([low]) => low));
    this.last = end ?? Math.max(...ends.map(([, high]) => high), this.first + 1);
    [this.low, this.high] = [this.first, this.last];
    this.longest = this.tracks.map(({events}) => this.longestEvent(events));
    this.stages = this.countStages();
    this.byStage = this.stages > 1;
    this.drawing = new Drawing({
      height: kAxisHeight + kTrackHeight * this.tracks.length,
      label,
      draw: (context, width) => this.drawAll(context, width),
      pointed: (x, y) => this.textAt(x, y),
      hint: "Point at the chart for details; drag to move, turn the wheel with Ctrl to zoom.",
    });
    this.keys = make("div", {className: "keys"});
    this.element = make("div", {}, this.controls(), this.drawing.element, this.keys);
    this.drawKeys();
    this.followPointer();
  }

  longestEvent(events) {
    let longest = 0;
    for (let i = 1; i < events.length; i += kEventSize) longest = Math.max(longest, events[i]);
    return longest;
  }

  countStages() {
    let stages = 0;
    for (const {events} of this.tracks) {
      for (let i = 4; i < events.length; i += kEventSize) stages = Math.max(stages, Math.floor(events[i] / 2) + 1);
    }
    return stages;
  }

  controls() {
    const button = (text, action) => {
      const element = make("button", {type: "button", textContent: text});
      element.addEventListener("click", action);
      return element;
    };
    const row = make(
      "div",
      {className: "controls"},
      button("zoom in", () => this.zoom(0.5)),
      button("zoom out", () => this.zoom(2)),
      button("◀", () => this.shift(-0.5)),
      button("▶", () => this.shift(0.5)),
      button("all", () => this.show(this.first, this.last)),
    );
    row.children[2].setAttribute("aria-label", "earlier");
    row.children[3].setAttribute("aria-label", "later");
    if (this.stages > 1) {
      row.append(
        "colours:",
        choice(
          "colours",
          [
            ["stage", "stages"],
            ["kind", "kinds of work"],
          ],
          (value) => {
            this.byStage = value === "stage";
            this.drawKeys();
            this.drawing.draw();
          },
        ),
      );
    }
    return row;
  }

  show(low, high) {
    const span = Math.max(Math.min(high - low, this.last - this.first), 20);
    this.low = Math.max(this.first, Math.min(low, this.last - span));
    this.high = this.low + span;
    this.drawing.draw();
  }
  zoom(factor, center = (this.low + this.high) / 2) {
    this.show(center - (center - this.low) * factor, center + (this.high - center) * factor);
  }
  shift(share) {
    const by = share * (this.high - this.low);
    this.show(this.low + by, this.high + by);
  }

  timeAt(x) {
    const width = this.drawing.canvas.clientWidth - kLabelWidth;
    return this.low + ((x - kLabelWidth) / width) * (this.high - this.low);
  }

  followPointer() {
    const canvas = this.drawing.canvas;
    let from = null;
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
        event.preventDefault();
        this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(event.offsetX));
      },
      {passive: false},
    );
    canvas.addEventListener("pointerdown", (event) => {
      from = {x: event.clientX, low: this.low, high: this.high};
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!from || event.buttons === 0) {
        from = null;
        return;
      }
      const moved = ((from.x - event.clientX) / (canvas.clientWidth - kLabelWidth)) * (from.high - from.low);
      this.show(from.low + moved, from.high + moved);
    });
  }

  kindOf(events, i) {
    const kind = this.trace.kinds[events[i + 3]];
    if (kKindNames[kind]) return kKindNames[kind];
    if (events[i + 4] >= 0) return events[i + 4] % 2 ? "backward" : "forward";
    return this.parts.get(this.trace.names[events[i + 2]]) === "backward" ? "backward" : "forward";
  }

  fillOf(events, i, fills) {
    const kind = this.kindOf(events, i);
    return this.byStage && events[i + 4] >= 0 && kind !== "waiting"
      ? fills.stages[Math.floor(events[i + 4] / 2) % 8]
      : fills[kind];
  }

  // The first event that may be seen: those before it end before the left edge.
  firstVisible(events, longest) {
    let low = 0,
      high = events.length / kEventSize;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (events[middle * kEventSize] < this.low - longest) low = middle + 1;
      else high = middle;
    }
    return low * kEventSize;
  }

  drawAll(context, width) {
    const fills = {stages: [0, 1, 2, 3, 4, 5, 6, 7].map(seriesColor)};
    for (const [kind, name] of kWorkKinds) fills[kind] = color(name);
    const soft = color("--soft"),
      faint = color("--faint"),
      ground = color("--card"),
      ink = color("--ink");
    const plotWidth = width - kLabelWidth,
      scale = plotWidth / (this.high - this.low);
    context.strokeStyle = color("--line");
    const ticks = roundTicks(this.low, this.high, plotWidth / 90);
    for (const tick of ticks) {
      const x = kLabelWidth + (tick - this.low) * scale;
      context.fillStyle = faint;
      context.fillRect(x, kAxisHeight, 1, kTrackHeight * this.tracks.length);
      context.fillStyle = soft;
      clippedText(context, tickText(tick, ticks[1] - ticks[0]), x + 3, kAxisHeight / 2, width - x);
    }
    this.tracks.forEach((track, row) => {
      const top = kAxisHeight + row * kTrackHeight;
      context.save();
      context.beginPath();
      context.rect(kLabelWidth, top, plotWidth, kTrackHeight);
      context.clip();
      this.drawTrack(context, {track, row, top, scale, fills, ground});
      context.restore();
      context.fillStyle = ink;
      clippedText(
        context,
        this.tracks.length > 1 && track.device ? `${track.device.replace("device ", "d")} ${track.name}` : track.name,
        0,
        top + kTrackHeight / 2,
        kLabelWidth - 8,
      );
    });
  }

  drawTrack(context, {track, row, top, scale, fills, ground}) {
    const {events} = track;
    let end = -1; // of what is drawn: thousands of events within a pixel are one
    for (
      let i = this.firstVisible(events, this.longest[row]);
      i < events.length && events[i] < this.high;
      i += kEventSize
    ) {
      const isPhase = this.trace.kinds[events[i + 3]] === "phase";
      const x = kLabelWidth + (events[i] - this.low) * scale,
        width = events[i + 1] * scale;
      if (isPhase) {
        // a visit of a stage: its ops stand on it
        context.globalAlpha = 0.25;
        context.fillStyle = this.fillOf(events, i, fills);
        context.fillRect(x, top + 2, Math.max(width, 0.5), kTrackHeight - 4);
        context.globalAlpha = 1;
        continue;
      }
      if (x + width < end) continue;
      const kind = this.kindOf(events, i),
        waits = kind === "waiting";
      context.fillStyle = this.fillOf(events, i, fills);
      context.fillRect(x, top + (waits ? 9 : 4), Math.max(width, 0.4), kTrackHeight - (waits ? 18 : 8));
      end = x + Math.max(width, 0.4);
      if (waits || width < 26) continue;
      context.fillStyle = ground;
      clippedText(context, this.trace.names[events[i + 2]], x + 3, top + kTrackHeight / 2, width - 5);
    }
  }

  textAt(x, y) {
    const row = Math.floor((y - kAxisHeight) / kTrackHeight),
      track = this.tracks[row];
    if (!track || x < kLabelWidth) return "";
    const time = this.timeAt(x),
      {events} = track;
    let found = -1;
    for (
      let i = this.firstVisible(events, this.longest[row]);
      i < events.length && events[i] <= time;
      i += kEventSize
    ) {
      if (time <= events[i] + events[i + 1]) found = i; // the innermost begins last
    }
    if (found < 0) return `${track.name}: idle at ${secondsText(time / 1e7)}`;
    const stage = events[found + 4] >= 0 ? `, stage ${Math.floor(events[found + 4] / 2)}` : "";
    const batch = events[found + 5] >= 0 ? `, micro-batch ${events[found + 5]}` : "";
    return `${track.name}: ${this.trace.names[events[found + 2]]}, ${this.kindOf(events, found)}, ${secondsText(events[found + 1] / 1e7)}${stage}${batch}`;
  }

  drawKeys() {
    const used = new Set();
    for (const {events} of this.tracks) {
      for (let i = 0; i < events.length; i += kEventSize) used.add(this.kindOf(events, i));
    }
    const stages = Array.from({length: this.byStage ? this.stages : 0}, (_, stage) =>
      colorKey(`stage ${stage}`, `var(--c${stage % 8})`),
    );
    this.keys.replaceChildren(
      ...stages,
      ...kWorkKinds
        .filter(([kind]) => used.has(kind) && !(this.byStage && ["forward", "backward"].includes(kind)))
        .map(([kind, name]) => colorKey(kind, `var(${name})`)),
      colorKey("idle", "var(--faint)"),
    );
  }
}
