// Puts the report together, part by part. SPDX-License-Identifier: MIT

const part = (id, title, about, ...children) =>
  make(
    "section",
    {className: "part", id},
    make("h2", {textContent: title}),
    about ? make("p", {className: "soft", textContent: about}) : null,
    ...children,
  );

const comparison = (data) =>
  part(
    "runs",
    "Runs",
    "",
    make("div", {className: "card"}, runsTable(data.runs)),
    make("h3", {textContent: "Options that differ"}),
    make("div", {className: "card"}, differingTable(data.differing, data.runs)),
    make("h3", {textContent: "Command, machine and end of each run"}),
    runFolds(data.runs),
  );

const sectionLinks = (parts) =>
  make(
    "nav",
    {className: "sections", "aria-label": "parts of the report"},
    make(
      "ul",
      {},
      ...parts.map((element) =>
        make("li", {}, make("a", {href: "#" + element.id, textContent: element.querySelector("h2").textContent})),
      ),
    ),
  );

// Why a run has no profile: nobody asked for it, or the run ended before it was written.
const noProfile = (run, details, otherwise) =>
  details.profile.missing ||
  (/ --profile[ =]/.test(run.command) && ["killed", "failed", "running"].includes(run.state)
    ? "The profile was not written: the run " + (run.state === "running" ? "goes on." : "ended before that.")
    : otherwise);

const missing = (text) => make("div", {className: "card"}, note(text));

// Why there is no report on the validation samples.
const noClasses = (run) => {
  const [, validation] = run.options.find(([name]) => name === "validation") || [];
  if (["false", "off"].includes(validation)) return "Nothing was validated: --validation false turned it off.";
  if (!["running", "stopped", "failed", "killed"].includes(run.state))
    return "There is no report on the validation samples: the run is of an earlier version, or its file is missing.";
  const came = run.state === "running" ? "has not yet come" : "did not come";
  return (
    `The run ${came} to its report on the validation samples, which is made at the end. ` +
    "With --report, each validation during training makes it."
  );
};

const kTaskTitles = {
  classification: "Classes and mistakes",
  multilabel: "Labels",
  regression: "Predicted and true values",
  segmentation: "Classes of pixels",
};

// The parts about one run that need more than its history: [id, title, content, what is missing].
const kDetails = [
  [
    "classes",
    (run) => kTaskTitles[run.task] || kTaskTitles.classification,
    (details) => (details.classes ? kTaskPanels[details.classes.task]?.(details.classes) : null),
    noClasses,
  ],
  [
    "time",
    "Where the time went",
    (details) => timePart(details.profile),
    (run, details) =>
      noProfile(
        run,
        details,
        "This run was not profiled. --profile DIR of pando train adds what every worker did, times of layers and ops, and a roofline.",
      ),
  ],
  [
    "memory",
    "Where the memory is",
    (details) => memoryPart(details.profile),
    (run, details) => noProfile(run, details, "--profile DIR of pando train adds a map of the memory."),
  ],
  [
    "graph",
    "The compiled program",
    (details) => graphPart(details.profile),
    (run, details) =>
      noProfile(run, details, "--profile DIR of pando train adds the compiled program: layers, ops, kernels, bytes."),
  ],
  [
    "input",
    "Input pipeline",
    (details) => inputPart(details, details.profile.missing),
    (run, details) =>
      noProfile(run, details, "--profile DIR of pando train adds the speed of the input pipeline and what limits it."),
  ],
];

// With several runs, one of them is shown at a time. Every part has content, or says why it has none.
const detailPart = ([id, titleOf, content, otherwise], data) => {
  const title = typeof titleOf === "string" ? titleOf : titleOf(data.runs[0]);
  const count = data.details.length,
    place = make("div");
  const made = new Map();
  const show = (index) => {
    if (!made.has(index)) {
      const shown = content(data.details[index]);
      made.set(index, shown || missing(otherwise(data.runs[index], data.details[index])));
    }
    place.replaceChildren(made.get(index));
  };
  show(0);
  const controls =
    count > 1
      ? make(
          "div",
          {className: "controls"},
          "run:",
          choice(
            "run of: " + title,
            data.details.map((_, index) => [index, data.runs[index].name]),
            show,
          ),
        )
      : null;
  return part(id, title, "", controls, place);
};

const drawReport = (data) => {
  const several = data.runs.length > 1;
  const parts = [];
  if (several) parts.push(comparison(data));
  // The load of the machine stands beside the curves, over the same axis.
  const charts = [...data.charts, ...data.load];
  if (charts.length > 0) parts.push(part("curves", "Curves", "", new CurvePanel(charts, data.runs).element));
  parts.push(...kDetails.map((entry) => detailPart(entry, data)));
  if (!several) parts.push(part("run", "The run", "", runDetails(data.runs[0]), ...problemNotes(data.runs[0])));
  else if (data.runs.some((run) => run.problems.length > 0))
    parts.push(part("problems", "Problems", "", ...data.runs.flatMap(problemNotes)));
  const header = several
    ? make(
        "header",
        {className: "page"},
        make("h1", {textContent: `${data.runs.length} runs`}),
        make("p", {className: "soft", textContent: data.runs.map((run) => run.name).join(" · ")}),
      )
    : runHeader(data.runs[0]);
  document
    .getElementById("main")
    .append(
      header,
      sectionLinks(parts),
      make("main", {}, ...parts),
      make("footer", {
        textContent: "Made by pando report from the files of the run; nothing is loaded from elsewhere.",
      }),
    );
};

drawReport(pageData());
