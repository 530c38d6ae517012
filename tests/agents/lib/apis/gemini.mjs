// The Gemini API.

export const gemini = {
  name: "google",
  path: ":streamGenerateContent",

  promptOf({ contents }) {
    const { parts } = contents.at(-1);
    const results = parts.flatMap((part) => part.functionResponse ?? []).map(({ response }) => JSON.stringify(response));
    // The first prompt of a session comes after a description of the project.
    return { text: parts.at(-1).text ?? "", results: results.length > 0 ? results.join("\n") : null };
  },

  toolsOf(body) {
    const functions = (body.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []);
    return functions.map(({ name, parametersJsonSchema }) => ({ name, properties: Object.keys(parametersJsonSchema?.properties ?? {}) }));
  },

  *render({ id, blocks, usage }) {
    const event = (parts, more = {}) => ({
      data: { candidates: [{ content: { role: "model", parts }, index: 0, ...more }], modelVersion: "gemini-2.5-pro", responseId: id },
    });
    for (const block of blocks) {
      if (block.call) {
        yield event([{ functionCall: { id: block.id, name: block.call, args: block.input } }]);
      } else if (block.thinking) {
        yield event([{ text: block.thinking, thought: true }]);
      } else {
        for (const text of block.text.match(/\S+\s*/g)) yield { ...event([{ text }]), isWord: true };
      }
    }
    const thoughtsTokenCount = blocks.some(({ thinking }) => thinking) ? 2 : 0;
    const counts = {
      promptTokenCount: usage.input + usage.cacheRead,
      cachedContentTokenCount: usage.cacheRead,
      candidatesTokenCount: usage.output - thoughtsTokenCount,
      thoughtsTokenCount,
      totalTokenCount: usage.input + usage.cacheRead + usage.output,
    };
    const last = event([{ text: "" }], { finishReason: "STOP" });
    yield { data: { ...last.data, usageMetadata: counts } };
  },
};
