// The planned schedule of a pipeline, played with the measured times of its stages.
// SPDX-License-Identifier: MIT
//
// schedule: {schedule, stages, micro_batches, one_at_a_time, planned_seconds, planned_idle,
// stage_seconds: [[forward, backward]], devices: [[[stage, backward, micro_batch]]]}.

// When each visit begins, if devices wait only for what they need: [{visit, begin, end}] per device.
const playSchedule = (schedule) => {
  const done = new Map(),
    key = (stage, backward, batch) => `${stage}:${backward}:${batch}`,
    last = schedule.stages - 1;
  const needs = ([stage, backward, batch]) => {
    const before = backward
      ? stage < last
        ? key(stage + 1, 1, batch)
        : key(last, 0, batch)
      : stage > 0
        ? key(stage - 1, 0, batch)
        : null;
    const turn = schedule.one_at_a_time && batch > 0 && stage === 0 && !backward ? key(0, 1, batch - 1) : null;
    return [before, turn].filter(Boolean);
  };
  const devices = schedule.devices.map((visits) => ({visits, next: 0, time: 0, played: []}));
  for (let moved = true; moved;) {
    moved = false;
    for (const device of devices) {
      while (device.next < device.visits.length) {
        const visit = device.visits[device.next],
          wanted = needs(visit);
        if (!wanted.every((name) => done.has(name))) break;
        const begin = Math.max(device.time, ...wanted.map((name) => done.get(name)));
        device.time = begin + schedule.stage_seconds[visit[0]][visit[1]];
        done.set(key(...visit), device.time);
        device.played.push({visit, begin, end: device.time});
        device.next += 1;
        moved = true;
      }
    }
  }
  return devices.map((device) => device.played);
};

// The played schedule in the form of a trace.
const scheduleTrace = (schedule) => {
  const names = [],
    place = new Map();
  const nameOf = ([, backward, batch]) => {
    const name = (backward ? "B" : "F") + batch;
    if (!place.has(name)) {
      place.set(name, names.length);
      names.push(name);
    }
    return place.get(name);
  };
  const tracks = playSchedule(schedule).map((played, device) => ({
    name: `device ${device}`,
    device: "",
    events: played.flatMap(({visit, begin, end}) => [
      begin * 1e7,
      (end - begin) * 1e7,
      nameOf(visit),
      0,
      2 * visit[0] + visit[1],
      visit[2],
    ]),
  }));
  return {names, kinds: ["op"], tracks, shown: 0, recorded: 0};
};

const schedulePart = ({schedule, time}) => {
  if (!schedule) return null;
  const measured = time ? 1 - time.busy_share : null;
  const figures = make(
    "div",
    {className: "figures"},
    figure(percentText(schedule.planned_idle), "idle, as planned"),
    isNumber(measured) ? figure(percentText(measured), "not working, as measured") : "",
    figure(secondsText(schedule.planned_seconds), "a weight update, as planned"),
    time?.updates ? figure(secondsText(time.span_seconds / time.updates), "a weight update, as measured") : "",
  );
  const drawn = schedule.devices.some((visits) => visits.length > 0);
  return make(
    "div",
    {className: "card"},
    make("h3", {textContent: "Schedule: planned against measured"}),
    make("p", {
      className: "soft small",
      textContent:
        `${schedule.stages} stages, ${schedule.schedule}, ${schedule.micro_batches} micro-batches per weight update. ` +
        "The plan has the measured times of the stages and no other cost. F is forward, B backward, the number the micro-batch.",
    }),
    figures,
    drawn
      ? new GanttChart(scheduleTrace(schedule), {label: "the planned schedule of one weight update"}).element
      : null,
  );
};
