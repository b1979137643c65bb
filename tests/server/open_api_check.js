// Checks answers of the Open Inference Protocol against their schemas, by npm's
// openapi-response-validator. usage: open_api_check.js SCHEMAS <ANSWERS
// SPDX-License-Identifier: MIT
const fs = require("fs");
const Validator = require("openapi-response-validator").default;

const { operations, components } = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const answers = JSON.parse(fs.readFileSync(0, "utf8"));
for (const { name, status, body } of answers) {
  const responses = Object.fromEntries(Object.entries(operations[name]).map(([code, schema]) => [
    code, { description: code, content: { "application/json": { schema: { $ref: `#/components/schemas/${schema}` } } } }]));
  const fault = new Validator({ responses, components }).validateResponse(status, body);
  if (fault) {
    console.error(`${name} ${status}: ${JSON.stringify(fault)}\n${JSON.stringify(body).slice(0, 400)}`);
    process.exit(1);
  }
}
console.log(`${answers.length} answers`);
