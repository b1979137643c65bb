// What stands first in a report: the result, how the run ended, what was trained on what.
// SPDX-License-Identifier: MIT

const kStateKinds = {done: "good", running: "busy", stopped: "busy", failed: "bad", killed: "bad", unknown: "soft"};
const kStateTexts = {killed: "killed: its process ended without saying why", unknown: "not known how it ended"};

const stateMark = (run) => make("span", {className: "state " + (kStateKinds[run.state] || "soft"),
  textContent: run.state, title: kStateTexts[run.state] || run.cause || ""});

const figure = (value, label, main = false) => make("div", {className: "figure" + (main ? " main" : "")},
  make("b", {textContent: value}), make("span", {textContent: label}));

const metricName = (run) => run.metric.replaceAll("_", " ");
const dateText = (ms) => ms ? new Date(ms).toLocaleString("en-GB", {dateStyle: "medium", timeStyle: "short"}) : "";

// Figures of a run that are read first; those that it does not have are left out.
const runFigures = (run) => {
  const figures = [];
  if (run.best) {
    figures.push(figure(run.best.text, `best ${run.best.of_validation ? "validation" : "training"} ` +
      `${metricName(run)}, epoch ${numberText(run.best.epoch)}`, true));
  }
  if (isNumber(run.val_loss)) figures.push(figure(numberText(run.val_loss), "validation loss, last"));
  if (isNumber(run.loss)) figures.push(figure(numberText(run.loss), "training loss, last"));
  if (isNumber(run.epochs)) figures.push(figure(numberText(run.epochs), run.epochs === 1 ? "epoch" : "epochs"));
  if (isNumber(run.throughput)) figures.push(figure(numberText(run.throughput), "samples per second"));
  if (isNumber(run.seconds)) figures.push(figure(secondsText(run.seconds), "time"));
  return make("div", {className: "figures"}, ...figures);
};

const facts = (rows) => make("dl", {className: "facts"}, ...rows.filter(([, value]) => value).flatMap(
  ([name, value]) => [make("dt", {textContent: name}), make("dd", {}, value)]));

const machineText = (machine) => [machine.processor, machine.cores ? `${machine.cores} cores` : "", machine.isa,
  machine.memory ? bytesText(machine.memory) + " of memory" : "", machine.system, machine.host]
  .filter(Boolean).join(" · ");

const runFacts = (run) => facts([
  ["model", run.model + (run.parameters ? ` · ${numberText(run.parameters)} parameters` : "")],
  ["data", run.dataset + (run.train_samples ? ` · ${numberText(run.train_samples)} samples to train, ` +
    `${numberText(run.test_samples)} to validate` : "")],
  ["batch", run.global_batch_size ? `${numberText(run.global_batch_size)} samples per weight update` +
    (run.instances > 1 ? `, on ${run.instances} instances` : "") : ""],
  ["seed", String(run.seed)],
  ["machine", machineText(run.machine)],
  ["began", dateText(run.started_ms)],
  [run.state === "running" ? "last news" : "ended", dateText(run.updated_ms)],
  ["compiled in", run.compile_seconds ? secondsText(run.compile_seconds) : ""],
  ["folder", make("code", {textContent: run.folder})],
  ["program", run.version ? "pando " + run.version : ""]]);

const optionsTable = (run) => {
  const details = make("details", {}, make("summary", {textContent: `all ${run.options.length} options`}));
  details.addEventListener("toggle", () => {
    if (details.children.length > 1) return;
    details.append(new DataTable([{name: "option", value: (row) => row[0]}, {name: "value", value: (row) => row[1]}],
      run.options, {caption: "options of " + run.name}).element);
  });
  return details;
};

const problemNotes = (run) => run.problems.map((problem) => note(problem, "bad"));

const runHeader = (run) => {
  const what = `${run.activity === "validation" ? "Validation" : "Training"} of ${run.model || "a network"}` +
    (run.dataset ? ` on ${run.dataset}` : "");
  return make("header", {className: "page"}, make("h1", {}, run.name + " ", stateMark(run)),
    make("p", {className: "soft", textContent: what}),
    run.cause ? note(run.cause, run.state === "failed" ? "bad" : "")
      : kStateTexts[run.state] ? note(kStateTexts[run.state]) : null, runFigures(run));
};

const runDetails = (run) => make("div", {className: "card"}, runFacts(run),
  run.command ? make("div", {}, make("div", {className: "soft small", textContent: "command"}),
    make("pre", {textContent: run.command})) : null, optionsTable(run));

// What is known of each of several runs: a line for each, which opens.
const runFolds = (runs) => make("div", {className: "card"}, ...runs.map((run, i) =>
  make("details", {className: "layer"},
    make("summary", {}, make("b", {}, colorKey(run.name, `var(--c${i % 8})`)), " ", stateMark(run), " ",
      run.cause || kStateTexts[run.state] || ""),
    runDetails(run))));

// Several runs side by side.
const runsTable = (runs) => new DataTable([
  {name: "run", value: (run) => run.name, show: (run) => colorKey(run.name, `var(--c${runs.indexOf(run) % 8})`)},
  {name: "state", value: (run) => run.state, show: stateMark},
  {name: "best", number: true, value: (run) => run.best?.value, show: (run) => run.best?.text ?? "–"},
  {name: "epoch of it", number: true, value: (run) => run.best?.epoch, show: (run) => numberText(run.best?.epoch)},
  {name: "validation loss", number: true, value: (run) => run.val_loss, show: (run) => numberText(run.val_loss)},
  {name: "samples/s", number: true, value: (run) => run.throughput, show: (run) => numberText(run.throughput)},
  {name: "time", number: true, value: (run) => run.seconds, show: (run) => secondsText(run.seconds)},
  {name: "model", value: (run) => run.model}, {name: "data", value: (run) => run.dataset}],
runs, {caption: "the runs"}).element;

const differingTable = (differing, runs) => differing.length === 0
  ? note("All options of these runs are the same.")
  : new DataTable([{name: "option", value: (row) => row.name},
    ...runs.map((run, i) => ({name: run.name, value: (row) => row.values[i] ?? "–"}))],
  differing, {caption: "options that differ"}).element;
