// The board: asks for the list, opens runs, and follows both by server-sent events.
// SPDX-License-Identifier: MIT

const kRetryMs = 2000;

// "#/run/ID" and "#/compare/ID,ID" name the runs that are open; anything else is the list.
const openIds = () => {
  const found = location.hash.match(/^#\/(?:run|compare)\/(.+)$/);
  return found ? found[1].split(",").filter(Boolean) : [];
};

const ask = async (address) => {
  const answer = await fetch(address, {cache: "no-store"});
  const data = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(data.error), {status: answer.status});
  return data;
};

class Board {
  constructor({most, folder}) {
    this.most = most;
    this.turn = 0;  // answers of earlier turns are too late
    this.table = new RunTable(() => this.drawBar());
    this.live = make("span", {className: "live", role: "status"});
    this.problem = make("div");
    this.bar = make("div", {className: "compare-bar hidden", role: "region", "aria-label": "compare runs"});
    this.list = make("div", {}, make("header", {className: "page board", "data-part": "list"}, make("h1", {textContent: "Runs"}),
      make("code", {className: "folder", textContent: folder})), make("main", {}, this.problem, this.table.element, this.bar));
    this.detail = make("main", {className: "hidden"});
    this.detail.style.paddingTop = "1.5rem";
    document.getElementById("main").append(this.list, this.detail,
      make("footer", {}, "Pando board · reads the files of the runs and writes nothing."));
    this.list.querySelector("header").append(this.live);
    this.drawBar();
    addEventListener("hashchange", () => this.start());
    // A browser has few connections to one address: a page that nobody sees gives its own back.
    document.addEventListener("visibilitychange", () => {
      this.connected = false;  // the board may be another one by then
      if (document.hidden) this.stop(); else this.start();
    });
    this.start();
  }

  stop() {
    ++this.turn;
    this.source?.close();
    clearTimeout(this.retry);
  }

  // Reads everything that is shown, then follows it.
  async start() {
    this.stop();
    const turn = this.turn, ids = openIds();
    try {
      if (!this.version || !this.connected) await this.readList(turn);
      const marks = ids.length > 0 ? await this.readRuns(ids, turn) : [];
      if (turn !== this.turn) return;
      this.show(ids.length > 0);
      this.follow(ids, marks);
    } catch (error) {
      if (turn !== this.turn) return;
      if (error.status === 404 || error.status === 400) return this.showMissing(error.message);
      this.fail();
    }
  }

  fail() {
    this.stop();
    this.setLive("bad", "not connected; trying again");
    this.retry = setTimeout(() => this.start(), kRetryMs);
  }

  setLive(kind, text) {
    this.connected = kind === "good";
    this.live.className = "live " + kind;
    this.live.replaceChildren(make("i", {"aria-hidden": "true"}), text);
  }

  async readList(turn) {
    const data = await ask("/api/runs");
    if (turn !== this.turn) return;
    this.version = data.version;
    this.showProblem(data.problem);
    this.table.setAll(data.runs);
  }

  async readRuns(ids, turn) {
    const data = await ask("/api/open?" + ids.map((id) => "run=" + id).join("&"));
    if (turn !== this.turn) return [];
    if (this.view && this.view.ids.join() === data.runs.map(({id}) => id).join()) {
      this.view.update(data);
    } else {
      this.view = new RunView(data);
      this.detail.replaceChildren(this.view.element);
      scrollTo(0, 0);
    }
    return data.marks;
  }

  follow(ids, marks) {
    const watched = ids.map((id, i) => `&run=${id}&mark=${marks[i]}`).join("");
    const source = this.source = new EventSource(`/api/events?version=${this.version}${watched}`);
    source.addEventListener("open", () => this.setLive("good", "live"));
    source.addEventListener("error", () => { if (this.source === source) this.fail(); });
    source.addEventListener("runs", ({data}) => {
      const {version, problem, changed, removed} = JSON.parse(data);
      this.version = version;
      this.showProblem(problem);
      this.table.apply(changed, removed);
      this.view?.apply(changed, removed);
    });
    source.addEventListener("rows", ({data}) => {
      const news = JSON.parse(data);
      if (news.reset || !this.view.append(news)) this.start();
    });
  }

  show(isOpen) {
    this.list.classList.toggle("hidden", isOpen);
    this.detail.classList.toggle("hidden", !isOpen);
    if (!isOpen) this.view = null;
    (isOpen ? this.view.top : this.list.querySelector("header")).append(this.live);
    document.title = (isOpen ? this.view.entries.map(({name}) => name).join(", ") : "Runs") + " · Pando";
  }

  showMissing(text) {
    const top = make("div", {className: "topline"}, make("a", {className: "back", href: "#/", textContent: "← all runs"}));
    this.view = {ids: [], entries: [{name: "not there"}], apply: () => {}, top};
    this.detail.replaceChildren(top,
      make("h1", {textContent: "This run is not there"}), note(text, "bad"));
    this.show(true);
    this.follow([], []);
  }

  showProblem(problem) { this.problem.replaceChildren(...problem ? [note(problem, "bad")] : []); }

  // The ticked runs, and what can be done with them.
  drawBar() {
    const ids = [...this.table.ticked], names = ids.map((id) => this.table.entries.get(id).name);
    const isFit = ids.length >= 2 && ids.length <= this.most;
    this.bar.classList.toggle("hidden", ids.length === 0);
    const compare = make("button", {type: "button", className: "button", disabled: !isFit, textContent: `compare ${ids.length} runs`});
    compare.addEventListener("click", () => { location.hash = "#/compare/" + ids.join(","); });
    const clear = make("button", {type: "button", className: "button quiet", textContent: "untick"});
    clear.addEventListener("click", () => this.table.untickAll());
    const text = ids.length === 1 ? "tick another run to compare it with " + names[0]
      : ids.length > this.most ? `at most ${this.most} runs can be compared` : names.join(", ");
    this.bar.replaceChildren(make("span", {className: "names", textContent: text}), clear, compare);
  }
}

new Board(pageData());
