// A model server as one writes it with Node's http and ONNX Runtime, to compare with: JSON
// ({"instances": [...]}) and raw f32 (application/octet-stream), one picture of mnist each.
// usage: node_server.js ONNXRUNTIME_NODE MODEL.onnx   (prints its port)
// SPDX-License-Identifier: MIT
const http = require("http");
const [runtime, file] = process.argv.slice(2);
const ort = require(runtime);

async function main() {
  const session = await ort.InferenceSession.create(file);
  const [input] = session.inputNames;
  const [output] = session.outputNames;
  const answer = async (body, isRaw) => {
    const numbers = isRaw ? new Float32Array(body.buffer.slice(body.byteOffset, body.byteOffset + body.length))
      : Float32Array.from(JSON.parse(body).instances.flat(Infinity));
    const samples = numbers.length / 784;
    const found = await session.run({ [input]: new ort.Tensor("float32", numbers, [samples, 1, 28, 28]) });
    const scores = Array.from(found[output].data);
    const classes = scores.length / samples;
    return JSON.stringify({ predictions: Array.from({ length: samples },
      (_, i) => scores.slice(i * classes, (i + 1) * classes)) });
  };
  const server = http.createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", async () => {
      try {
        const isRaw = request.headers["content-type"] === "application/octet-stream";
        const text = await answer(Buffer.concat(parts), isRaw);
        response.writeHead(200, { "Content-Type": "application/json", "Content-Length": text.length });
        response.end(text);
      } catch (error) {
        response.writeHead(400);
        response.end(String(error));
      }
    });
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}
main();
