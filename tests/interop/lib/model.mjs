// A scripted model on this machine, as a provider of Anthropic's API. The last message of a request decides its
// reply; each session of a run has a path of its own, so that several agents can talk to it at once.

import { createServer } from "node:http";

/**
 * Returns `{url, sent, close}`. An agent whose base URL is `url(name)` gets the replies, and `sent(name)` returns and
 * forgets the bodies that it sent.
 */
export async function scriptedModel() {
  const bodies = new Map();
  let replies = 0;
  const server = createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const [, name] = request.url.split("/");
      const body = JSON.parse(Buffer.concat(chunks).toString());
      bodies.set(name, [...(bodies.get(name) ?? []), body]);
      replies++;
      stream(response, reply(body, replies));
    });
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return {
    url: (name) => `http://127.0.0.1:${server.address().port}/${name}`,
    sent(name) {
      const sent = bodies.get(name) ?? [];
      bodies.delete(name);
      return sent;
    },
    close: () => server.close(),
  };
}

/**
 * Returns a message: after results, or if no command is asked for, a text; after `run: A; B`, a call of the shell for
 * each command. Both follow signed thinking.
 */
function reply({ model, messages }, number) {
  const { content } = messages.at(-1);
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const asked = blocks.map(({ text }) => /^run: (.*)$/m.exec(text ?? "")?.[1]).find(Boolean);
  const commands = asked?.split("; ") ?? [];
  const thinking = { type: "thinking", thinking: `Thought ${number}.`, signature: Buffer.from(`signed ${number}`).toString("base64") };
  const calls = commands.map((command, at) => ({ type: "tool_use", id: `toolu_${number}_${at}`, name: "bash", input: { command } }));
  const said = { type: "text", text: `Answer ${number}.` };
  return {
    id: `msg_${number}`,
    type: "message",
    role: "assistant",
    model,
    content: [thinking, ...(calls.length > 0 ? calls : [said])],
    stop_reason: calls.length > 0 ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 100 * messages.length, output_tokens: 20, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
  };
}

/** Sends a message as the events of a stream. */
function stream(response, message) {
  response.writeHead(200, { "content-type": "text/event-stream", connection: "close" });
  const send = (event) => response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  send({ type: "message_start", message: { ...message, content: [], stop_reason: null } });
  for (const [index, block] of message.content.entries()) {
    const { empty, deltas } = inParts(block);
    send({ type: "content_block_start", index, content_block: empty });
    for (const delta of deltas) send({ type: "content_block_delta", index, delta });
    send({ type: "content_block_stop", index });
  }
  const { stop_reason, stop_sequence } = message;
  send({ type: "message_delta", delta: { stop_reason, stop_sequence }, usage: { output_tokens: 20 } });
  send({ type: "message_stop" });
  response.end();
}

/** Returns a block as a stream has it: empty at first, then its parts. */
function inParts(block) {
  switch (block.type) {
    case "thinking":
      return {
        empty: { ...block, thinking: "", signature: "" },
        deltas: [{ type: "thinking_delta", thinking: block.thinking }, { type: "signature_delta", signature: block.signature }],
      };
    case "tool_use":
      return { empty: { ...block, input: {} }, deltas: [{ type: "input_json_delta", partial_json: JSON.stringify(block.input) }] };
    default:
      return { empty: { ...block, text: "" }, deltas: [{ type: "text_delta", text: block.text }] };
  }
}
