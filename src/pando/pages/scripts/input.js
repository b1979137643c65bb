// The input pipeline: how fast samples came, what held them up, and some of them as the devices got
// them. SPDX-License-Identifier: MIT

// What limits a run, from the share of time in which workers waited for data.
const inputVerdict = (share) => {
  const remedy =
    "pando data benchmark shows which stage of reading, decoding and augmenting is slow; more " +
    "--pipeline-num-parallel, smaller pictures or a faster disk may help.";
  return share > 0.2
    ? `The data limit this run: the devices could train faster. ${remedy}`
    : share > 0.05
      ? `The devices limit this run, but the data hold them up a little. ${remedy}`
      : "The devices limit this run: the data come fast enough.";
};

// How fast data workers make samples when nothing else runs.
const preparedFigures = (prepared) => {
  const rate = prepared.samples / prepared.seconds;
  return [
    figure(numberText(rate), "samples per second that one data worker reads, decodes and augments"),
    prepared.workers > 1
      ? figure(numberText(prepared.workers * rate), `by ${prepared.workers} data workers at most, each on a free core`)
      : "",
  ];
};

const inputFigures = (time, prepared) => {
  const samples = Math.max(time.samples, 1),
    wait = time.phase_seconds.feed_wait / Math.max(time.workers, 1);
  return make(
    "div",
    {},
    make(
      "div",
      {className: "figures"},
      figure(numberText(time.samples_per_second), "samples per second of training, measured"),
      figure(percentText(time.feed_wait_share), "of the workers' time was waiting for data"),
      figure(secondsText(wait / samples), "wait per sample and worker"),
      ...(prepared ? preparedFigures(prepared) : []),
    ),
    make("p", {textContent: inputVerdict(time.feed_wait_share)}),
  );
};

const inputPictures = (input) => {
  if (!input?.sheet) return null;
  const sheet = new PictureSheet(input, input.samples.length);
  const name = (label) => (label === null ? "" : (input.names?.[label] ?? String(label)));
  return make(
    "div",
    {className: "card"},
    make("h3", {textContent: "Training samples as they reach the devices"}),
    make("p", {
      className: "soft small",
      textContent: `Of the first epoch, after augmentation; each is scaled from its darkest to its brightest value. A sample is ${input.fields}.`,
    }),
    pictureRow(
      sheet,
      input.samples.map(([index, label], picture) => ({
        index: picture,
        label: `training sample ${index} ${name(label)}`,
        lines: [name(label)],
      })),
    ),
  );
};

// `missing`: why there is no profile, if it belongs to another run.
const inputPart = (details, missing) => {
  const time = details.profile.time;
  if (!time && !details.input) return null;
  return make(
    "div",
    {},
    time
      ? inputFigures(time, details.input?.prepared)
      : note(missing || "--profile DIR of pando train adds the speed of the input pipeline and what limits it."),
    inputPictures(details.input),
  );
};
