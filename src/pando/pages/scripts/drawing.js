// Canvases that fit their place, follow the colours of the page and answer the pointer.
// SPDX-License-Identifier: MIT

const kRegionWidth = 40; // a place that is narrower has no layout yet

class Drawing {
  // draw(context, width, height) draws everything; pointed(x, y) may return text for the line below.
  constructor({height, label, draw, pointed, clicked, hint = ""}) {
    Object.assign(this, {height, drawAll: draw});
    this.canvas = make("canvas", {className: "drawn", role: "img", "aria-label": label});
    this.canvas.style.height = height + "px";
    this.hint = make("div", {className: "hint", textContent: hint, "aria-live": "polite"});
    this.element = make("div", {}, this.canvas, pointed ? this.hint : null);
    const place = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    if (pointed) {
      this.canvas.addEventListener("pointermove", (event) => {
        this.hint.textContent = pointed(...place(event)) || hint;
      });
      this.canvas.addEventListener("pointerleave", () => {
        this.hint.textContent = hint;
      });
    }
    if (clicked) this.canvas.addEventListener("click", (event) => clicked(...place(event)));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    onNewColors(() => this.drawNow()); // a page that is printed has no next frame
  }

  setHeight(height) {
    this.height = height;
    this.canvas.style.height = height + "px";
  }

  // At most once per frame, however often it is called.
  draw() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      this.drawNow();
    });
  }

  drawNow() {
    const width = this.canvas.clientWidth,
      ratio = Math.min(devicePixelRatio || 1, 2);
    if (width < kRegionWidth) return;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.clearRect(0, 0, width, this.height);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.drawAll(context, width, this.height);
  }
}

// Text cut off where its place ends; nothing in a place for less than three letters.
const clippedText = (context, text, x, y, width) => {
  if (width < 22) return;
  let shown = text;
  if (context.measureText(shown).width > width) {
    let letters = Math.floor((text.length * width) / context.measureText(text).width);
    do shown = text.slice(0, --letters) + "…";
    while (letters > 1 && context.measureText(shown).width > width);
    if (letters < 2) return;
  }
  context.fillText(shown, x, y);
};

// Round numbers for a scale from `low` to `high`: at most `most` of them.
const roundTicks = (low, high, most) => {
  const rough = (high - low) / Math.max(most, 1),
    power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) || power;
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) ticks.push(tick);
  return ticks;
};
