// Records a session with the real OpenCode, and imports it by its id: pisess runs OpenCode to export it. What OpenCode then
// sends to the model for a further turn must be what pisess says that the imported session contains.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { compare } from "./said.mjs";

/** What the user says, one turn each: text, thinking, a call, two calls, and one that fails. */
const PROMPTS = ["hello", "think: kites need wind", "run: echo one", "run: echo two; echo three", "run: exit 3"];

/** What is asked at the end. */
const LAST_PROMPT = "say it";

/** Tries it in a place; `modules` is where OpenCode is installed. */
export async function importFromOpenCode(place, { modules }) {
  const program = join(modules, `opencode-${process.platform}-${process.arch}`, "bin", "opencode");
  if (!existsSync(program)) throw new Error(`no packaged OpenCode for ${process.platform}-${process.arch}`);
  const config = join(place.home, "opencode.json");
  writeFileSync(config, JSON.stringify(configFor(place.url)));
  const variables = { OPENCODE_CONFIG: config, OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1" };
  // OpenCode puts an argument with spaces into quotation marks.
  const say = (prompt, options) => place.run([program, "run", ...options, ...prompt.split(" ")], { variables });
  for (const [index, prompt] of PROMPTS.entries()) await say(prompt, index > 0 ? ["-c"] : []);

  const list = await place.run([program, "session", "list", "--format", "json"], { variables });
  const [{ id }] = JSON.parse(list);
  const importing = { ...variables, PATH: `${dirname(program)}:${process.env.PATH}` };
  const runImport = async () => (await place.run([place.pisessProgram, "import", "-q", id], { variables: importing })).trim();
  const path = await runImport();
  const imported = readFileSync(path, "utf8");
  await place.pisess("check", "-q", path);
  const context = JSON.parse(await place.pisess("context", "-q", path));

  const exchangeCount = place.exchanges.length;
  await say(LAST_PROMPT, ["-c"]);
  const bodies = place.exchanges.slice(exchangeCount).map((exchange) => exchange.body);
  const request = bodies.find((body) => body.messages.at(-1).role === "user" && body.tools);
  const sent = request.messages.flatMap(partsOfRequest);
  if (sent.pop() !== `user ${LAST_PROMPT}`) throw new Error("the prompt is not the last message");
  compare(context.messages.flatMap(partsOfMessage), sent);

  await runImport();
  const grown = readFileSync(path, "utf8");
  if (!grown.startsWith(imported)) throw new Error("the second import changed what was there");
  if (!grown.includes(LAST_PROMPT)) throw new Error("the second import lacks the new turn");
}

function configFor(url) {
  const limit = { context: 100000, output: 4000 };
  const cost = { input: 1, output: 2, cache_read: 0.1, cache_write: 1 };
  const options = { baseURL: `${url}/v1`, apiKey: "x" };
  const models = { m1: { name: "M1", reasoning: true, tool_call: true, limit, cost } };
  return {
    model: "script/m1",
    small_model: "script/m1",
    autoupdate: false,
    share: "disabled",
    permission: { bash: "allow" },
    provider: { script: { npm: "@ai-sdk/openai-compatible", name: "Script", options, models } },
  };
}

/** Returns what a message of a request says: texts, calls and results. */
function partsOfRequest({ role, content, tool_calls = [], tool_call_id }) {
  if (role === "system") return [];
  const texts = typeof content === "string" ? [content] : (content ?? []).map((part) => part.text);
  if (role === "tool") return [`result ${tool_call_id} ${texts.join("\n")}`];
  const calls = tool_calls.map((call) => partOfCall(call.id, call.function.name, JSON.parse(call.function.arguments)));
  return [...texts.filter((text) => text !== "").map((text) => `${role} ${text}`), ...calls];
}

/** Does the same for a message of pi. */
function partsOfMessage({ role, content, toolCallId }) {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  if (role === "toolResult") return [`result ${toolCallId} ${blocks.map((block) => block.text).join("\n")}`];
  const parts = [];
  for (const block of blocks) {
    if (block.type === "text") parts.push(`${role === "custom" ? "user" : role} ${block.text}`);
    if (block.type === "toolCall") parts.push(partOfCall(block.id, block.name, block.arguments));
  }
  return parts;
}

function partOfCall(id, name, input) {
  return `call ${id} ${name} ${JSON.stringify(input)}`;
}
