// Where the memory is: what is always live, what is live while a step works, and a map of a slice's
// memory over the calls of the program. SPDX-License-Identifier: MIT

const kMapHeight = 300,
  kMapLeft = 64;

// Up to eight round numbers of bytes: powers of two apart.
const byteTicks = (bytes) => {
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(bytes / 8)));
  return Array.from({length: Math.floor(bytes / step) + 1}, (_, i) => i * step);
};

const stageOf = (memory, stage) => memory.plan.stages.find((row) => row.stage === stage) || memory.plan.stages[0];

// What is live only while a stage works: activations and sums. Other regions are always live.
const workingBlocks = (memory, stage) =>
  memory.blocks.filter((block) => block.stage === stage && ["activations", "sums"].includes(block.region));

// The working memory of a stage: x is the call, y the place in memory. Sums are drawn above all activations.
class MemoryMap {
  constructor(memory, stage) {
    this.memory = memory;
    this.stage = stageOf(memory, stage);
    const all = workingBlocks(memory, this.stage.stage),
      end = (region) =>
        all.reduce((most, block) => (block.region === region ? Math.max(most, block.offset + block.bytes) : most), 0);
    this.sums = end("activations");
    this.blocks = all.map((block) => ({...block, offset: block.offset + (block.region === "sums" ? this.sums : 0)}));
    this.calls = Math.max(memory.calls.length, 1);
    this.bytes = Math.max(this.sums + end("sums"), 1);
    this.drawing = new Drawing({
      height: kMapHeight,
      label: `map of the memory of stage ${this.stage.stage}: at most ${bytesText(this.stage.peak_bytes)} live, in call ${this.stage.peak_call}`,
      draw: (context, width, height) => this.draw(context, width, height),
      pointed: (x, y) => this.textAt(x, y),
      hint: "Point at a block to see what it holds.",
    });
    this.element = this.drawing.element;
  }

  draw(context, width, height) {
    const bottom = height - 20,
      wide = (width - kMapLeft) / this.calls,
      high = bottom / this.bytes;
    const fills = [0, 5, 2, 6, 4, 3].map(seriesColor),
      faint = color("--faint"),
      soft = color("--soft");
    for (const tick of byteTicks(this.bytes)) {
      const y = bottom - tick * high;
      context.fillStyle = faint;
      context.fillRect(kMapLeft, y, width - kMapLeft, 1);
      context.fillStyle = soft;
      clippedText(context, bytesText(tick), 0, Math.max(y, 7), kMapLeft - 4);
    }
    const card = color("--card");
    this.blocks.forEach((block, i) => {
      const from = Math.max(block.first_call, 0),
        x = kMapLeft + from * wide,
        y = bottom - (block.offset + block.bytes) * high;
      const w = (block.last_call - from + 1) * wide,
        h = block.bytes * high;
      context.fillStyle = fills[i % fills.length];
      context.globalAlpha = 0.85;
      context.fillRect(x, y, Math.max(w - 1, 0.5), Math.max(h - 1, 0.5));
      context.globalAlpha = 1;
      context.fillStyle = card;
      if (h > 14) clippedText(context, block.holds, x + 4, y + h / 2, w - 6);
    });
    if (this.sums < this.bytes) {
      context.fillStyle = color("--ink");
      context.fillRect(kMapLeft, bottom - this.sums * high, width - kMapLeft, 1);
    }
    const peak = kMapLeft + (this.stage.peak_call + 0.5) * wide;
    context.fillStyle = color("--bad");
    context.fillRect(peak, 0, 1.5, bottom);
    context.fillStyle = soft;
    for (const tick of roundTicks(0, this.calls - 1, (width - kMapLeft) / 60)) {
      if (Number.isInteger(tick)) clippedText(context, "call " + tick, kMapLeft + tick * wide, bottom + 11, 60);
    }
  }

  textAt(x, y) {
    const width = this.drawing.canvas.clientWidth,
      call = Math.floor(((x - kMapLeft) / (width - kMapLeft)) * this.calls);
    if (call < 0 || call >= this.calls) return "";
    const place = ((kMapHeight - 20 - y) / (kMapHeight - 20)) * this.bytes;
    const block = this.blocks.find(
      (one) => one.first_call <= call && call <= one.last_call && one.offset <= place && place < one.offset + one.bytes,
    );
    const at = `call ${call}, ${this.memory.calls[call]}: `;
    return (
      at +
      (block
        ? `${block.region === "sums" ? "sum " : ""}${block.holds}, ${bytesText(block.bytes)}, live from call ${Math.max(block.first_call, 0)} to ${block.last_call}`
        : "free")
    );
  }
}

const liveAtPeak = (memory, stage) => {
  const row = stageOf(memory, stage);
  const live = workingBlocks(memory, row.stage).filter(
    (block) => block.first_call <= row.peak_call && row.peak_call <= block.last_call,
  );
  const table = new DataTable(
    [
      {name: "live at the peak", value: (block) => block.holds},
      {name: "kind", value: (block) => (block.region === "sums" ? "sum" : "activation")},
      {name: "bytes", number: true, value: (block) => block.bytes, show: (block) => bytesText(block.bytes)},
      {
        name: "from call",
        number: true,
        value: (block) => block.first_call,
        show: (block) => (block.first_call < 0 ? "before" : block.first_call),
      },
      {name: "to call", number: true, value: (block) => block.last_call},
    ],
    live,
    {caption: "what is live at the peak", sort: 2, most: 30},
  );
  const text =
    `The most bytes are live in call ${row.peak_call}, ${memory.calls[row.peak_call] ?? ""}: ` +
    `${bytesText(row.peak_bytes)} of each slice.`;
  return make("div", {}, make("p", {className: "soft small", textContent: text}), table.element);
};

const memoryFigures = (memory) => {
  const all = memory.always_live_bytes + memory.not_always_live_bytes;
  return make(
    "div",
    {className: "figures"},
    figure(bytesText(all), "for model and program", true),
    figure(bytesText(memory.always_live_bytes), "always live"),
    figure(bytesText(memory.not_always_live_bytes), "only while a step works"),
    figure(bytesText(memory.weights_bytes), "weights"),
    figure(bytesText(memory.optimizer_bytes), "state of the optimizer"),
    figure(bytesText(memory.packed_bytes), "packed weights"),
  );
};

const bytesColumn = (name, value) => ({name, number: true, value, show: (row) => bytesText(value(row))});

// A slice of each stage.
const stageTable = (memory) =>
  new DataTable(
    [
      {name: "stage", number: true, value: (row) => row.stage},
      bytesColumn("always live", (row) => row.held_bytes + row.gradient_bytes + row.statistics_bytes),
      bytesColumn("held", (row) => row.held_bytes),
      bytesColumn("gradients", (row) => row.gradient_bytes),
      bytesColumn("statistics", (row) => row.statistics_bytes),
      bytesColumn("only while it works", (row) => row.working_bytes),
      bytesColumn("live at the peak", (row) => row.peak_bytes),
    ],
    memory.plan.stages,
    {caption: "memory of the stages"},
  ).element;

const deviceTable = (memory) =>
  new DataTable(
    [
      {name: "device", value: (row) => row.device},
      {name: "stages", value: (row) => row.stages.join(", ")},
      {name: "workers", number: true, value: (row) => row.workers},
      bytesColumn("in all", (row) => row.total_bytes),
      bytesColumn("always live", (row) => row.held_bytes + row.gradient_bytes),
      bytesColumn("held", (row) => row.held_bytes),
      bytesColumn("gradients", (row) => row.gradient_bytes),
      bytesColumn("only while it works", (row) => row.working_bytes + row.sum_bytes + row.scratch_bytes),
      bytesColumn("activations", (row) => row.working_bytes),
      bytesColumn("sums, statistics", (row) => row.sum_bytes),
      bytesColumn("scratch", (row) => row.scratch_bytes),
    ],
    memory.devices,
    {caption: "memory of the devices"},
  ).element;

const memoryPart = ({memory}) => {
  if (!memory) return null;
  const stages = memory.plan.stages,
    place = make("div");
  const show = (stage) => place.replaceChildren(new MemoryMap(memory, stage).element, liveAtPeak(memory, stage));
  show(stages[0].stage);
  return make(
    "div",
    {},
    memoryFigures(memory),
    make(
      "div",
      {className: "card"},
      make("h3", {textContent: "Map of a slice's memory over the calls of the program"}),
      make("p", {
        className: "soft small",
        textContent:
          `Blocks whose values are not live at the same time share memory: ${bytesText(memory.plan.slice_bytes)} instead of ` +
          `${bytesText(memory.plan.unshared_bytes)} for each slice. The upright line is the call with most live bytes.` +
          (memory.blocks.some((block) => block.region === "sums") ? " Sums over samples are above the level line." : ""),
      }),
      stages.length > 1
        ? make(
            "div",
            {className: "controls"},
            choice(
              "stage",
              stages.map((row) => [row.stage, `stage ${row.stage}`]),
              show,
            ),
          )
        : null,
      place,
      memory.blocks.length < memory.all_blocks
        ? note(`The ${numberText(memory.blocks.length)} largest of ${numberText(memory.all_blocks)} blocks are drawn.`)
        : null,
    ),
    make(
      "div",
      {className: "card"},
      make("h3", {textContent: "Stages"}),
      make("p", {
        className: "soft small",
        textContent: "One slice of each stage. What is held is needed once for each micro-batch that is under way.",
      }),
      stageTable(memory),
    ),
    make(
      "div",
      {className: "card"},
      make("h3", {textContent: "Devices of a replica"}),
      make("p", {
        className: "soft small",
        textContent: "All slices, without weights, packed weights and the state of the optimizer: replicas share these.",
      }),
      deviceTable(memory),
    ),
  );
};
