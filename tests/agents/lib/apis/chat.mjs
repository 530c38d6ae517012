// OpenAI's Chat API.

export const chat = {
  name: "openai",
  path: "/chat/completions",

  promptOf({ messages }) {
    const { role, content } = messages.at(-1);
    const parts = typeof content === "string" ? [{ text: content }] : (content ?? []);
    const text = parts.flatMap((part) => part.text ?? []).join("\n");
    return { text, results: role === "tool" ? text : null };
  },

  toolsOf(body) {
    const functions = (body.tools ?? []).map((tool) => tool.function);
    return functions.map(({ name, parameters }) => ({ name, properties: Object.keys(parameters?.properties ?? {}) }));
  },

  *render({ body, id, blocks, usage }) {
    const chunk = { id: `chatcmpl_${id}`, object: "chat.completion.chunk", created: 1, model: body.model };
    const event = (delta, finish_reason = null) => ({ data: { ...chunk, choices: [{ index: 0, delta, finish_reason }] } });
    yield event({ role: "assistant", content: "" });
    let callCount = 0;
    for (const block of blocks) {
      if (block.call) {
        const called = { name: block.call, arguments: JSON.stringify(block.input) };
        yield event({ tool_calls: [{ index: callCount, id: block.id, type: "function", function: called }] });
        callCount += 1;
      } else if (block.thinking) {
        yield event({ reasoning_content: block.thinking });
      } else {
        for (const word of block.text.match(/\S+\s*/g)) yield { ...event({ content: word }), isWord: true };
      }
    }
    yield event({}, callCount > 0 ? "tool_calls" : "stop");
    const counted = {
      prompt_tokens: usage.input + usage.cacheRead,
      prompt_tokens_details: { cached_tokens: usage.cacheRead },
      completion_tokens: usage.output,
      total_tokens: usage.input + usage.cacheRead + usage.output,
    };
    yield { data: { ...chunk, choices: [], usage: counted } };
    yield { data: "[DONE]" };
  },
};
