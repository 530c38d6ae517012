// A model that answers by script: Anthropic's Messages API and OpenAI's Responses API on a port of the loopback
// interface.
//
// The last text of the user decides the answer: `run: COMMAND` makes a call of the shell tool that the agent offers,
// `run: COMMAND; COMMAND` two calls in one response, `think: TEXT` thinking before the text. Anything else is answered
// with a text, and so are the results of calls.

import { createServer } from "node:http";

/** Starts a model. `requests` of the returned object are the bodies of all requests that ask for an answer. */
export async function startModel() {
  const model = { requests: [], port: 0, stop: () => server.close() };
  const server = createServer((request, response) => {
    let data = "";
    request.on("data", (chunk) => (data += chunk));
    request.on("end", () => answer(model, request, data, response));
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  model.port = server.address().port;
  return model;
}

function answer(model, request, data, response) {
  const path = request.url.split("?")[0];
  const body = data === "" ? {} : JSON.parse(data);
  if (path.endsWith("/messages")) {
    model.requests.push(body);
    return answerMessages(body, model.requests.length, response);
  }
  if (path.endsWith("/responses")) {
    model.requests.push(body);
    return answerResponses(body, model.requests.length, response);
  }
  // Agents also ask for counts of tokens and lists of models, which none of them needs.
  response.writeHead(200, { "content-type": "application/json" });
  response.end("{}");
}

/** Plans the blocks of an answer: `{text}`, `{thinking}` or `{call, input}`. */
function plan(prompt, hasResults, tools) {
  if (hasResults) return [{ text: "The results are there." }];
  const shell = tools.find((tool) => /^(bash|shell|exec_command)$/i.test(tool.name ?? ""));
  const commands = /^run: (.+)$/m.exec(prompt)?.[1].split("; ");
  if (commands && shell) {
    const key = shell.parameters?.properties?.cmd ? "cmd" : "command";
    const calls = commands.map((command) => ({ call: shell.name, input: { [key]: command } }));
    return [{ text: "I run it." }, ...calls];
  }
  const thought = /^think: (.+)$/m.exec(prompt)?.[1];
  if (thought) return [{ thinking: thought }, { text: "I thought about it." }];
  return [{ text: `An answer to ${prompt.slice(-40)}` }];
}

function answerMessages(body, number, response) {
  const last = body.messages.filter((message) => message.role !== "system").at(-1);
  const blocks = typeof last.content === "string" ? [{ type: "text", text: last.content }] : last.content;
  const texts = blocks.filter((block) => block.type === "text" && !block.text.startsWith("<system-reminder>"));
  const hasResults = blocks.some((block) => block.type === "tool_result");
  const planned = plan(texts.at(-1)?.text ?? "", hasResults, body.tools ?? []);

  const events = [];
  const usage = { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 90, cache_creation_input_tokens: 20 };
  const message = { id: `msg_${number}`, type: "message", role: "assistant", model: body.model, content: [] };
  events.push({ type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null, usage } });
  planned.forEach((block, index) => {
    const [start, deltas] = renderBlock(block, `toolu_${number}_${index}`);
    events.push({ type: "content_block_start", index, content_block: start });
    for (const delta of deltas) events.push({ type: "content_block_delta", index, delta });
    events.push({ type: "content_block_stop", index });
  });
  const stop_reason = planned.some((block) => block.call) ? "tool_use" : "end_turn";
  events.push({ type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } });
  events.push({ type: "message_stop" });

  sendEvents(events, response);
}

function answerResponses(body, number, response) {
  const last = body.input.at(-1);
  const prompt = (last.content ?? []).map((part) => part.text ?? "").join("\n");
  const planned = plan(prompt, /_output$/.test(last.type ?? ""), body.tools ?? []);
  const output = planned.map((block, index) => {
    if (block.call) {
      const call = { type: "function_call", id: `fc_${number}_${index}`, call_id: `call_${number}_${index}`, name: block.call };
      return { ...call, arguments: JSON.stringify(block.input) };
    }
    if (block.thinking) {
      return { type: "reasoning", id: `rs_${number}`, summary: [{ type: "summary_text", text: block.thinking }] };
    }
    const content = [{ type: "output_text", text: block.text, annotations: [] }];
    return { type: "message", id: `msg_${number}_${index}`, role: "assistant", status: "completed", content };
  });
  const id = `resp_${number}`;
  const usage = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 90 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 105,
  };
  const events = [{ type: "response.created", response: { id } }];
  output.forEach((item, output_index) => {
    events.push({ type: "response.output_item.added", output_index, item });
    events.push({ type: "response.output_item.done", output_index, item });
  });
  events.push({ type: "response.completed", response: { id, status: "completed", output, usage } });
  sendEvents(events, response);
}

function sendEvents(events, response) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
}

/** Returns the empty block that begins a block of a stream, and what fills it. */
function renderBlock(block, id) {
  if (block.call) {
    const partial_json = JSON.stringify(block.input);
    return [{ type: "tool_use", id, name: block.call, input: {} }, [{ type: "input_json_delta", partial_json }]];
  }
  if (block.thinking) {
    const signature = Buffer.from(block.thinking).toString("base64");
    const deltas = [
      { type: "thinking_delta", thinking: block.thinking },
      { type: "signature_delta", signature },
    ];
    return [{ type: "thinking", thinking: "", signature: "" }, deltas];
  }
  return [{ type: "text", text: "" }, [{ type: "text_delta", text: block.text }]];
}
