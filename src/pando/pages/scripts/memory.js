// Where the memory is: what is always live, what is live while a step works, and a map of a slice's
// memory over the calls of the program. SPDX-License-Identifier: MIT

const kMapHeight = 300,
  kMapLeft = 64;

// Up to eight round numbers of bytes: powers of two apart.
const byteTicks = (bytes) => {
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(bytes / 8)));
  return Array.from({length: Math.floor(bytes / step) + 1}, (_, i) => i * step);
};

// Blocks of a region and stage: x is the call, y the place in memory.
class MemoryMap {
  constructor(memory, stage) {
    this.memory = memory;
    this.stage = memory.plan.stages.find((row) => row.stage === stage) || memory.plan.stages[0];
    this.blocks = memory.blocks.filter((block) => block.stage === this.stage.stage && block.region === "activations");
    this.calls = Math.max(memory.calls.length, 1);
    this.bytes = Math.max(...this.blocks.map((block) => block.offset + block.bytes), 1);
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
        ? `${block.holds}, ${bytesText(block.bytes)}, live from call ${Math.max(block.first_call, 0)} to ${block.last_call}`
        : "free")
    );
  }
}

const liveAtPeak = (memory, stage) => {
  const row = memory.plan.stages.find((one) => one.stage === stage) || memory.plan.stages[0];
  const live = memory.blocks.filter(
    (block) =>
      block.stage === row.stage &&
      block.region === "activations" &&
      block.first_call <= row.peak_call &&
      row.peak_call <= block.last_call,
  );
  return new DataTable(
    [
      {name: "live at the peak", value: (block) => block.holds},
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
    {caption: "what is live at the peak", sort: 1, most: 30},
  ).element;
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

const deviceTable = (memory) => {
  const bytes = (name, key) => ({name, number: true, value: (row) => row[key], show: (row) => bytesText(row[key])});
  return new DataTable(
    [
      {name: "device", value: (row) => row.device},
      {name: "stages", value: (row) => row.stages.join(", ")},
      {name: "workers", number: true, value: (row) => row.workers},
      bytes("in all", "total_bytes"),
      bytes("working", "working_bytes"),
      bytes("held", "held_bytes"),
      bytes("gradients", "gradient_bytes"),
      bytes("sums", "sum_bytes"),
      bytes("scratch", "scratch_bytes"),
    ],
    memory.devices,
    {caption: "memory of the devices"},
  ).element;
};

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
          `${bytesText(memory.plan.unshared_bytes)} for each slice. The line is the call with most live bytes.`,
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
    make("div", {className: "card"}, make("h3", {textContent: "Devices of a replica"}), deviceTable(memory)),
  );
};
