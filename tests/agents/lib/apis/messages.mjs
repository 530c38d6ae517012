// Anthropic's Messages API.

export const messages = {
  name: "anthropic",
  path: "/messages",

  promptOf(body) {
    const { content } = body.messages.filter(({ role }) => role !== "system").at(-1);
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const texts = blocks.filter(({ type, text }) => type === "text" && !text.startsWith("<system-reminder>"));
    const results = blocks.filter(({ type }) => type === "tool_result").map((block) => JSON.stringify(block.content));
    return { text: texts.at(-1)?.text ?? "", results: results.length > 0 ? results.join("\n") : null };
  },

  toolsOf(body) {
    const tools = body.tools ?? [];
    return tools.map(({ name, input_schema }) => ({ name, properties: Object.keys(input_schema?.properties ?? {}) }));
  },

  *render({ body, id, blocks, usage }) {
    const event = (data) => ({ name: data.type, data });
    const begun = { input_tokens: usage.input, output_tokens: 1, cache_read_input_tokens: usage.cacheRead, cache_creation_input_tokens: usage.cacheWrite };
    const message = { id: `msg_${id}`, type: "message", role: "assistant", model: body.model, content: [] };
    yield event({ type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null, usage: begun } });
    for (const [index, block] of blocks.entries()) {
      const { start, deltas } = split(block);
      yield event({ type: "content_block_start", index, content_block: start });
      for (const delta of deltas) {
        yield { ...event({ type: "content_block_delta", index, delta }), isWord: delta.type === "text_delta" };
      }
      yield event({ type: "content_block_stop", index });
    }
    const stop_reason = blocks.some(({ call }) => call) ? "tool_use" : "end_turn";
    yield event({ type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: usage.output } });
    yield event({ type: "message_stop" });
  },
};

/** Returns the empty block that begins a block of a stream, and what fills it. */
function split(block) {
  if (block.call) {
    const partial_json = JSON.stringify(block.input);
    const start = { type: "tool_use", id: block.id, name: block.call, input: {} };
    return { start, deltas: [{ type: "input_json_delta", partial_json }] };
  }
  if (block.thinking) {
    const { thinking, signature } = block;
    const deltas = [{ type: "thinking_delta", thinking }, { type: "signature_delta", signature }];
    return { start: { type: "thinking", thinking: "", signature: "" }, deltas };
  }
  const words = block.text.match(/\S+\s*/g);
  return { start: { type: "text", text: "" }, deltas: words.map((text) => ({ type: "text_delta", text })) };
}
