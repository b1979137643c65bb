// The compiled program, folded by layer. SPDX-License-Identifier: MIT

const layerShares = (time) =>
  new Map((time?.layers || []).map((row) => [row.layer, row.forward.share + row.backward.share]));

const opTable = (ops) =>
  new DataTable(
    [
      {name: "call", number: true, value: (op) => op.call},
      {name: "op", value: (op) => `${op.op} ${op.name}`},
      {name: "part", value: (op) => op.part},
      {name: "result", value: (op) => op.result},
      {name: "kernel", value: (op) => op.kernel},
      {
        name: "MFLOP",
        number: true,
        value: (op) => op.flops,
        show: (op) => (op.flops ? numberText(op.flops / 1e6) : "–"),
      },
      {name: "read", number: true, value: (op) => op.bytes_read, show: (op) => bytesText(op.bytes_read)},
      {name: "written", number: true, value: (op) => op.bytes_written, show: (op) => bytesText(op.bytes_written)},
    ],
    ops,
    {caption: "ops of the layer"},
  ).element;

// A layer that opens to its ops; these are drawn when it is opened first.
const layerFold = (layer, ops, share) => {
  const flops = ops.reduce((sum, op) => sum + op.flops, 0);
  const about = [
    `${ops.length} ${ops.length === 1 ? "op" : "ops"}`,
    flops ? `${numberText(flops / 1e6)} MFLOP` : "",
    layer.weights ? `${numberText(layer.weights)} weights` : "",
    isNumber(share) ? `${percentText(share)} of the time` : "",
    ops.some((op) => op.slow) ? "slow kernel" : "",
  ]
    .filter(Boolean)
    .join(" · ");
  const fold = make(
    "details",
    {className: "layer"},
    make(
      "summary",
      {},
      make("b", {textContent: layer.layer}),
      " ",
      make("span", {className: "soft small", textContent: about}),
      isNumber(share) ? shareBar(share) : null,
    ),
  );
  fold.addEventListener("toggle", () => {
    if (fold.open && fold.children.length === 1) fold.append(opTable(ops));
  });
  return fold;
};

const graphPart = ({graph, time}) => {
  if (!graph) return null;
  const shares = layerShares(time),
    byLayer = new Map();
  for (const op of graph.ops) {
    if (!byLayer.has(op.layer)) byLayer.set(op.layer, []);
    byLayer.get(op.layer).push(op);
  }
  const known = new Map(graph.layers.map((layer) => [layer.layer, layer]));
  const names = [
    ...graph.layers.map((layer) => layer.layer),
    ...[...byLayer.keys()].filter((name) => !known.has(name)),
  ];
  const folds = names
    .filter((name) => byLayer.has(name))
    .map((name) => layerFold(known.get(name) || {layer: name}, byLayer.get(name), shares.get(name)));
  const all = make("button", {type: "button", textContent: "open all"});
  all.addEventListener("click", () => {
    const open = all.textContent === "open all";
    for (const fold of folds) fold.open = open;
    all.textContent = open ? "fold all" : "open all";
  });
  const {division} = graph;
  return make(
    "div",
    {className: "card"},
    make("p", {
      className: "soft small",
      textContent:
        `${graph.ops.length} calls, precision ${graph.precision}; ` +
        `a micro-batch is ${division.slices} slices of ${division.samples_of_a_slice} samples; ` +
        `${numberText(graph.flops_per_sample.all / 1e6)} MFLOP per sample. Work and bytes are those of a slice.`,
    }),
    make("div", {className: "controls"}, all),
    ...folds,
  );
};
