// Puts the report together, part by part. SPDX-License-Identifier: MIT

const part = (id, title, about, ...children) => make("section", {className: "part", id},
  make("h2", {textContent: title}), about ? make("p", {className: "soft", textContent: about}) : null, ...children);

const comparison = (data) => part("runs", "Runs", "", make("div", {className: "card"}, runsTable(data.runs)),
  make("h3", {textContent: "Options that differ"}), make("div", {className: "card"}, differingTable(data.differing, data.runs)));

const sectionLinks = (parts) => make("nav", {className: "sections", "aria-label": "parts of the report"},
  make("ul", {}, ...parts.map((element) => make("li", {}, make("a", {href: "#" + element.id,
    textContent: element.querySelector("h2").textContent})))));

const drawReport = (data) => {
  const several = data.runs.length > 1;
  const parts = [];
  if (several) parts.push(comparison(data));
  if (data.charts.length > 0) parts.push(part("curves", "Curves", "", new CurvePanel(data.charts, data.runs).element));
  if (!several) parts.push(part("run", "The run", "", runDetails(data.runs[0]), ...problemNotes(data.runs[0])));
  const header = several
    ? make("header", {className: "page"}, make("h1", {textContent: `${data.runs.length} runs`}),
      make("p", {className: "soft", textContent: data.runs.map((run) => run.name).join(" · ")}))
    : runHeader(data.runs[0]);
  document.getElementById("main").append(header, sectionLinks(parts), make("main", {}, ...parts),
    make("footer", {textContent: "Made by pando report from the files of the run; nothing is loaded from elsewhere."}));
};

drawReport(pageData());
