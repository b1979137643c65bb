// Elements, numbers as people read them, and tables that sort. SPDX-License-Identifier: MIT

// make("p", {className: "soft"}, "text", child): properties that are not DOM properties, such as
// aria-label and data-x, become attributes. Text is always text, never HTML.
const make = (tag, properties = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.includes("-") || name === "role" || name === "for") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
};

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const seriesColor = (index) => color("--c" + index % 8);

// The data that the program put into the page.
const pageData = () => JSON.parse(document.getElementById("data").textContent);

const isNumber = (value) => typeof value === "number" && isFinite(value);
const grouped = (text) => text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");

// Four significant digits: 0.01234, 12.34, 12,345.
const numberText = (value) => {
  if (!isNumber(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e12)) return value.toExponential(3);
  if (size >= 1000 || Number.isInteger(value)) return grouped(String(Math.round(value)));
  return String(Number(value.toPrecision(4)));
};
const percentText = (share, digits = 1) => isNumber(share) ? (100 * share).toFixed(digits) + " %" : "–";
const scaled = (value, step, units) => {
  let unit = 0;
  while (Math.abs(value) >= step && unit < units.length - 1) { value /= step; ++unit; }
  return Number(value.toPrecision(value >= 100 ? Math.max(3, Math.ceil(Math.log10(value))) : 3)) + " " + units[unit];
};
const bytesText = (bytes) => isNumber(bytes) ? scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]) : "–";
const secondsText = (seconds) => {
  if (!isNumber(seconds)) return "–";
  if (seconds === 0) return "0 s";
  if (seconds < 1e-3) return Number((seconds * 1e6).toPrecision(3)) + " µs";
  if (seconds < 1) return Number((seconds * 1e3).toPrecision(3)) + " ms";
  if (seconds < 120) return Number(seconds.toPrecision(3)) + " s";
  const whole = Math.round(seconds), two = (value) => String(value).padStart(2, "0");
  return whole < 3600 ? `${Math.floor(whole / 60)}:${two(whole % 60)} min`
    : `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)} h`;
};

// A value in the unit of its chart: "%", "B", "s", or any word that follows the number.
const unitText = (value, unit) => unit === "%" ? (isNumber(value) ? value.toFixed(2) + " %" : "–")
  : unit === "B" ? bytesText(value) : unit === "s" ? secondsText(value)
    : numberText(value) + (unit && isNumber(value) ? " " + unit : "");

const shareBar = (share, label) => {
  const bar = make("i");
  bar.style.width = Math.max(0, Math.min(1, share || 0)) * 100 + "%";
  return make("span", {className: "share", "aria-hidden": "true", title: label || ""}, bar);
};

const colorKey = (text, fill) => {
  const mark = make("i");
  mark.style.background = fill;
  return make("span", {className: "key"}, mark, text);
};

const note = (text, kind = "") => make("p", {className: "note " + kind}, text);

// One of several choices; `chosen(value)` is called for each choice but the first.
const choice = (label, values, chosen, first = values[0][0]) => {
  const buttons = values.map(([value, text]) => {
    const button = make("button", {type: "button", textContent: text, "aria-pressed": String(value === first)});
    button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      chosen(value);
    });
    return button;
  });
  return make("span", {className: "choice", role: "group", "aria-label": label}, ...buttons);
};

// columns: [{name, value: (row) => number or text, show: (row) => text or element, number: bool}].
// A click on a heading sorts; of many rows, `most` are drawn at first.
class DataTable {
  constructor(columns, rows, {caption, most = 200, sort, descending = true} = {}) {
    this.columns = columns;
    this.rows = rows;
    this.most = most;
    this.body = make("tbody");
    this.heads = columns.map((column, index) => {
      const button = make("button", {type: "button", textContent: column.name});
      button.addEventListener("click", () => this.sortBy(index));
      return make("th", {scope: "col", className: column.number ? "number" : ""}, button);
    });
    const table = make("table", {className: "data"}, make("thead", {}, make("tr", {}, ...this.heads)), this.body);
    if (caption) table.setAttribute("aria-label", caption);
    this.more = make("button", {type: "button", className: "hidden"});
    this.more.addEventListener("click", () => { this.most = Infinity; this.draw(); });
    this.element = make("div", {}, make("div", {className: "scroll", tabIndex: 0, role: "region",
      "aria-label": caption || "table"}, table), make("div", {className: "controls"}, this.more));
    if (sort === undefined) this.draw();
    else { this.column = sort; this.descending = !descending; this.sortBy(sort); }
  }

  sortBy(index) {
    this.descending = this.column === index ? !this.descending : Boolean(this.columns[index].number);
    this.column = index;
    const sign = this.descending ? -1 : 1, value = this.columns[index].value;
    const rank = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
    this.rows = [...this.rows].sort((a, b) => sign * rank(value(a) ?? -Infinity, value(b) ?? -Infinity));
    this.heads.forEach((head, i) => {
      if (i === index) head.setAttribute("aria-sort", this.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    this.draw();
  }

  draw() {
    this.body.replaceChildren(...this.rows.slice(0, this.most).map((row) => make("tr", {},
      ...this.columns.map((column) => make("td", {className: column.number ? "number" : ""},
        (column.show || column.value)(row) ?? "")))));
    this.more.textContent = `show all ${this.rows.length} rows`;
    this.more.classList.toggle("hidden", this.rows.length <= this.most);
  }
}
