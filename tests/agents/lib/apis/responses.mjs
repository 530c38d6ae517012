// OpenAI's Responses API.

export const responses = {
  name: "openai-responses",
  path: "/responses",

  promptOf({ input }) {
    const last = input.at(-1);
    const parts = typeof last.content === "string" ? [{ text: last.content }] : (last.content ?? []);
    const texts = parts.flatMap(({ text }) => text ?? []);
    const output = typeof last.output === "string" ? last.output : JSON.stringify(last.output);
    return { text: texts.join("\n"), results: last.type?.endsWith("_output") ? output : null };
  },

  toolsOf(body) {
    const tools = [];
    for (const tool of body.tools ?? []) {
      const own = tool.type === "namespace" ? tool.tools : [tool];
      const namespace = tool.type === "namespace" ? tool.name : undefined;
      for (const { type, name, parameters } of own) {
        const properties = type === "custom" ? undefined : Object.keys(parameters?.properties ?? {});
        if (name) tools.push({ name, namespace, properties });
      }
    }
    return tools;
  },

  *render({ id: exchangeId, blocks, usage }) {
    const event = (data) => ({ name: data.type, data });
    const id = `resp_${exchangeId}`;
    yield event({ type: "response.created", response: { id } });
    const output = [];
    for (const [output_index, block] of blocks.entries()) {
      const item = itemOf(block, `${exchangeId}_${output_index}`);
      output.push(item);
      yield event({ type: "response.output_item.added", output_index, item: item.type === "message" ? { ...item, content: [] } : item });
      for (const delta of block.text?.match(/\S+\s*/g) ?? []) {
        const content_index = 0;
        yield { ...event({ type: "response.output_text.delta", item_id: item.id, output_index, content_index, delta }), isWord: true };
      }
      yield event({ type: "response.output_item.done", output_index, item });
    }
    const counted = {
      input_tokens: usage.input + usage.cacheRead,
      input_tokens_details: { cached_tokens: usage.cacheRead },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.input + usage.cacheRead + usage.output,
    };
    yield event({ type: "response.completed", response: { id, status: "completed", output, usage: counted } });
  },
};

function itemOf(block, number) {
  if (typeof block.input === "string") {
    return { type: "custom_tool_call", id: `ctc_${number}`, call_id: block.id, name: block.call, input: block.input, status: "completed" };
  }
  if (block.call) {
    const namespace = block.namespace && { namespace: block.namespace };
    return { type: "function_call", id: `fc_${number}`, call_id: block.id, name: block.call, ...namespace, arguments: JSON.stringify(block.input) };
  }
  if (block.thinking) {
    const summary = [{ type: "summary_text", text: block.thinking }];
    return { type: "reasoning", id: `rs_${number}`, summary, encrypted_content: block.signature };
  }
  const content = [{ type: "output_text", text: block.text, annotations: [] }];
  return { type: "message", id: `msg_${number}`, role: "assistant", status: "completed", content };
}
