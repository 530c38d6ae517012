// A model that answers by script, on a port of the loopback interface: Anthropic's Messages API, OpenAI's Responses and
// Chat APIs, and the Gemini API.
//
// Lines of the user's last text are orders:
//
//   run: COMMAND; COMMAND   a call of the shell tool that the agent offers for each command, in one response
//   write: PATH TEXT        a call of the tool that writes a file
//   look: PATH              a call of the tool that shows a file or an image
//   patch: PATH TEXT        the same with a patch, in a call whose input is a text
//   delegate: TEXT; TEXT    a call of the tool that starts a sub-agent for each TEXT, which the sub-agent is asked
//   background: TEXT        the same, if the agent can go on meanwhile
//   think: TEXT             thinking before the answer
//   slow: N                 N words, one every tenth of a second
//   weigh: N                the request counts as N tokens
//   fail: STATUS, STATUS    the first requests with this text fail with these HTTP statuses
//
// Results of calls, and texts without an order, are answered with a text. If a result names a sub-agent that can be
// waited for, the answer is a call that waits for it. No two answers are equal, and no two answers report the same usage.

import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { chat } from "./lib/apis/chat.mjs";
import { gemini } from "./lib/apis/gemini.mjs";
import { messages } from "./lib/apis/messages.mjs";
import { responses } from "./lib/apis/responses.mjs";

/** The time between two words of a slow answer, in milliseconds. */
const PAUSE = 100;

/**
 * The APIs. `path` is the end of the address of requests; `promptOf(body)` returns `{text, results}` for the last
 * message: the user's last text, and the text of the results, null if there is none. `toolsOf(body)` returns the tools as
 * `{name, properties, namespace}`, without `properties` if the input is a text. `render(exchange)` returns the events
 * of the answer, each with a `data` and maybe a `name`, and `isWord` where a slow answer pauses.
 */
const APIS = [messages, responses, chat, gemini];

/**
 * Starts a model. An agent whose base URL is `url(name)` is recorded in `log(name)`: an exchange for each request that
 * asks for an answer, with
 *
 *   api, body   the request
 *   number, id  the number of the answer, which its ids end with; they are as long as those of a provider
 *   blocks      the answer: `{text}`, `{thinking, signature}`, or `{call, id, input}`
 *   usage       the tokens that the answer reports: `{input, output, cacheRead, cacheWrite}`
 *   outcome     "answered"; "refused" if the request failed; "cut" if the agent closed the connection
 */
export async function startModel() {
  const logs = new Map();
  const log = (name) => {
    if (!logs.has(name)) logs.set(name, []);
    return logs.get(name);
  };
  let count = 0;
  const server = createServer(async (request, response) => {
    const data = await readAll(request);
    const path = request.url.split("?")[0];
    const api = APIS.find((each) => path.endsWith(each.path));
    // Agents also ask for counts of tokens and lists of models, which none of them needs.
    if (!api || request.method !== "POST") return sendJson(response, 200, {});
    const exchanges = log(path.split("/")[1]);
    count += 1;
    const exchange = plan(api, JSON.parse(data), count, exchanges);
    exchanges.push(exchange);
    if (exchange.status !== 200) return refuse(exchange, response);
    await answer(api, exchange, response);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address();
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: (name) => `http://127.0.0.1:${port}/${name}`, log, stop };
}

async function readAll(request) {
  let data = "";
  for await (const chunk of request.setEncoding("utf8")) data += chunk;
  return data;
}

/** Decides the answer to a request, given the exchanges before it. */
function plan(api, body, number, before) {
  const { text, results } = api.promptOf(body);
  const orders = readOrders(results === null ? text : "");
  const statuses = orders.fail?.split(", ").map(Number) ?? [];
  const failedCount = before.filter((exchange) => exchange.prompt === text && exchange.outcome === "refused").length;
  return {
    api: api.name,
    body,
    number,
    id: String(number).padStart(24, "0"),
    prompt: text,
    blocks: planBlocks(orders, { text, results }, api.toolsOf(body), number),
    usage: { input: Number(orders.weigh ?? 10 + number), output: 5 + number, cacheRead: 90 + number, cacheWrite: 0 },
    status: statuses[failedCount] ?? 200,
    outcome: "open",
  };
}

/** Returns the orders in a text, by name. */
function readOrders(text) {
  const orders = {};
  for (const line of text.split("\n")) {
    const [, name, value] = /^([a-z]+): (.+)$/.exec(line) ?? [];
    if (name) orders[name] = value;
  }
  return orders;
}

function planBlocks(orders, { text, results }, tools, number) {
  // Claude Code wants these tags when it compacts a session.
  if (text.includes("<summary>")) return [{ text: `<analysis>Kites.</analysis>\n\n<summary>\nA summary (${number}).\n</summary>` }];
  const blocks = [];
  if (orders.think) {
    blocks.push({ thinking: `${orders.think} (${number})`, signature: Buffer.from(`signed ${number}`).toString("base64") });
  }
  const calls = results === null ? planCalls(orders, tools) : planWait(results, tools);
  if (results !== null && calls.length === 0) blocks.push({ text: `The results are there (${number}).` });
  else if (calls.length > 0) blocks.push({ text: `I do it (${number}).` });
  else if (orders.slow) blocks.push({ text: `${"slow ".repeat(Number(orders.slow))}(${number})` });
  else blocks.push({ text: `An answer (${number}).` });
  const numbered = calls.map((call, index) => ({ ...call, id: `call_${String(number).padStart(20, "0")}_${index}` }));
  return [...blocks, ...numbered];
}

/** Returns the calls `{call, namespace, input}` that the orders want, of tools that the agent offers. */
function planCalls({ run, write, patch, look, delegate, background }, tools) {
  const calls = [];
  const add = (names, values) => calls.push(...callOf(names, values, tools));
  for (const command of run?.split("; ") ?? []) {
    add(/^(bash|shell|exec_command|run_shell_command)$/i, { command, cmd: command, description: "runs it" });
  }
  if (write) {
    const [path, ...words] = write.split(" ");
    add(/^write(_file)?$/i, { path, file_path: path, filePath: path, content: words.join(" ") });
  }
  if (patch) {
    const [path, ...words] = patch.split(" ");
    add(/^apply_patch$/, `*** Begin Patch\n*** Add File: ${path}\n+${words.join(" ")}\n*** End Patch\n`);
  }
  if (look) add(/^(read|view_image)$/i, { path: look, file_path: look });
  for (const asked of (delegate ?? background)?.split("; ") ?? []) {
    const run_in_background = background !== undefined;
    add(/^(agent|task|spawn_agent)$/i, { description: "delegates it", prompt: asked, message: asked, run_in_background });
  }
  return calls;
}

/** Returns the call that waits for the sub-agents that a result names. */
function planWait(results, tools) {
  const targets = [...results.matchAll(/"agent_id":"([^"]+)"/g)].map(([, id]) => id);
  return targets.length === 0 ? [] : callOf(/^wait_agent$/, { targets }, tools);
}

/** Returns a call of the first tool whose name matches, if the agent offers it. */
function callOf(names, values, tools) {
  const tool = tools.find(({ name }) => names.test(name));
  if (!tool) return [];
  const input = tool.properties ? fill(tool, values) : values;
  return [{ call: tool.name, namespace: tool.namespace, input }];
}

/** Returns the arguments of a tool that have a value. */
function fill({ properties }, values) {
  const input = {};
  for (const name of properties) {
    if (values[name] !== undefined) input[name] = values[name];
  }
  return input;
}

/** Lets a request fail, without a hint when to try again, so that the agent decides. */
function refuse(exchange, response) {
  exchange.outcome = "refused";
  const error = { type: exchange.status === 429 ? "rate_limit_error" : "api_error", message: `no answer (${exchange.number})` };
  sendJson(response, exchange.status, { type: "error", error });
}

function sendJson(response, status, value) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

async function answer(api, exchange, response) {
  response.on("close", () => {
    if (exchange.outcome === "open") exchange.outcome = "cut";
  });
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const { name, data, isWord } of api.render(exchange)) {
    if (isWord && exchange.blocks.some((block) => block.text?.startsWith("slow "))) await sleep(PAUSE);
    if (exchange.outcome === "cut") return;
    response.write(`${name ? `event: ${name}\n` : ""}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`);
  }
  exchange.outcome = "answered";
  response.end();
}
