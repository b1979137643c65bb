// The input pipeline: how fast samples came, what held them up, and some of them as the devices got
// them. SPDX-License-Identifier: MIT

// What limits a run, from the share of time in which workers waited for data.
const inputVerdict = (share) =>
  share > 0.2
    ? "The input pipeline limits this run: more --pipeline-num-parallel, smaller pictures or data on a faster disk would make it faster."
    : share > 0.05
      ? "The input pipeline holds the devices up a little."
      : "The input pipeline keeps up: the devices limit this run.";

const inputFigures = (time) => {
  const samples = Math.max(time.samples, 1),
    wait = time.phase_seconds.feed_wait / Math.max(time.workers, 1);
  return make(
    "div",
    {},
    make(
      "div",
      {className: "figures"},
      figure(numberText(time.samples_per_second), "samples per second, measured"),
      figure(percentText(time.feed_wait_share), "of the workers' time was waiting for data"),
      figure(secondsText(wait / samples), "wait per sample and worker"),
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

const inputPart = (details) => {
  const time = details.profile.time;
  if (!time && !details.input) return null;
  return make(
    "div",
    {},
    time ? inputFigures(time) : note("--profile DIR of pando train adds how long the devices waited for data."),
    inputPictures(details.input),
  );
};
