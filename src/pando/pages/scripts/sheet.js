// Pictures that are cut out of one large picture. SPDX-License-Identifier: MIT
//
// A sheet is {sheet: data URL, columns, tile: [height, width]}; picture i is at row i / columns.

// A blob is decoded once for all pictures of the sheet; a data URL would be copied into each.
const blobAddress = (dataUrl) => {
  const bytes = atob(dataUrl.slice(dataUrl.indexOf(",") + 1));
  return URL.createObjectURL(new Blob([Uint8Array.from(bytes, (letter) => letter.charCodeAt(0))], {type: "image/png"}));
};

class PictureSheet {
  constructor(data, count) {
    this.data = data;
    this.rows = Math.ceil(count / data.columns);
    this.address = blobAddress(data.sheet);
  }

  // Small pictures are enlarged by a whole factor, so that their pixels stay square; those that have
  // to fit get exactly the size.
  picture(index, label, {size = 72, fits = false} = {}) {
    const [height, width] = this.data.tile,
      ratio = size / Math.max(width, height),
      factor = fits ? ratio : Math.max(1, Math.round(ratio));
    const row = Math.floor(index / this.data.columns),
      column = index % this.data.columns;
    const element = make("span", {className: "picture", role: "img", "aria-label": label, title: label});
    Object.assign(element.style, {
      width: width * factor + "px",
      height: height * factor + "px",
      backgroundImage: `url(${this.address})`,
      backgroundSize: `${this.data.columns * width * factor}px ${this.rows * height * factor}px`,
      backgroundPosition: `-${column * width * factor}px -${row * height * factor}px`,
    });
    return element;
  }
}

// Pictures with captions: [{index, label, lines: [text]}].
const pictureRow = (sheet, entries) =>
  make(
    "ul",
    {className: "pictures"},
    ...entries.map((entry) =>
      make(
        "li",
        {},
        sheet.picture(entry.index, entry.label),
        ...entry.lines.map((line) => make("span", {textContent: line})),
      ),
    ),
  );
