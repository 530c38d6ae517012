// What a request says: messages reduced to turns that can be compared, for the requests of every agent.

/** Returns items of OpenAI's Responses API as messages of Anthropic's, without reasoning. */
export function messagesOfItems(items) {
  const messages = [];
  for (const item of items) {
    const { type = "message", role, call_id, name } = item;
    if (type === "message") {
      const parts = typeof item.content === "string" ? [{ text: item.content }] : item.content;
      messages.push({ role, content: parts.map(blockOfPart) });
    } else if (type === "function_call") {
      const block = { type: "tool_use", id: call_id, name, input: JSON.parse(item.arguments) };
      messages.push({ role: "assistant", content: [block] });
    } else if (type === "custom_tool_call") {
      messages.push({ role: "assistant", content: [{ type: "tool_use", id: call_id, name, input: item.input }] });
    } else if (type.endsWith("_output")) {
      const content = typeof item.output === "string" ? item.output : item.output.map(blockOfPart);
      messages.push({ role: "user", content: [{ type: "tool_result", tool_use_id: call_id, content }] });
    }
  }
  return messages;
}

function blockOfPart(part) {
  return part.image_url ? { type: "image", source: part.image_url } : { type: "text", text: part.text };
}

/**
 * Returns contents of the Gemini API as messages of Anthropic's, without thoughts. In a session that was resumed, Gemini
 * CLI sends results more than once: the first one counts.
 */
export function messagesOfContents(contents) {
  const messages = [];
  for (const { role, parts } of contents) {
    const seen = new Set();
    const content = parts.filter(({ thought }) => !thought).flatMap((part) => {
      if (part.functionCall) {
        const { id, name, args } = part.functionCall;
        return [{ type: "tool_use", id, name, input: args }];
      }
      if (part.functionResponse) {
        const { id, response } = part.functionResponse;
        if (id !== undefined && seen.has(id)) return [];
        seen.add(id);
        const { output, error } = response;
        return [{ type: "tool_result", tool_use_id: id, is_error: error !== undefined, content: output ?? error }];
      }
      return part.inlineData ? [{ type: "image", source: part.inlineData }] : [{ type: "text", text: part.text }];
    });
    messages.push({ role: role === "model" ? "assistant" : role, content });
  }
  return messages;
}

/**
 * Reduces messages to what was said: a turn for each role, with its texts, calls and results. Calls are passed through
 * `callOf`, and texts through `textOf`, which returns an empty string for what the agent itself adds to a request.
 * `idOf` returns what is compared of the id of a call. `roleOf` returns the role of a turn, or null if the message is
 * left out.
 */
export function turnsOf(messages, { callOf = (call) => call, textOf = (text) => text, idOf = (id) => id, roleOf = withoutSystem }) {
  const turns = [];
  for (const message of messages) {
    const { content } = message;
    const role = roleOf(message);
    if (role === null) continue;
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const parts = blocks.map((block) => partOf(block, { callOf, textOf, idOf })).filter((part) => part !== "");
    if (parts.length === 0) continue;
    if (turns.at(-1)?.role === role) turns.at(-1).parts.push(...parts);
    else turns.push({ role, parts });
  }
  // Results come first: so they do in the requests of Claude Code.
  for (const turn of turns) turn.parts.sort((a, b) => Number(b.startsWith("result")) - Number(a.startsWith("result")));
  return turns.map(({ role, parts }) => `${role}: ${parts.join("\n")}`);
}

/** Leaves out the messages of an agent to its model. */
function withoutSystem({ role }) {
  return role === "system" || role === "developer" ? null : role;
}

function partOf(block, how) {
  const { callOf, textOf, idOf } = how;
  switch (block.type) {
    case "text":
      // pi's request has this text where a result is nothing but a picture.
      return block.text === "(see attached image)" ? "" : textOf(block.text).trim();
    case "thinking":
      return `thinking ${block.thinking} ${block.signature}`;
    case "tool_use": {
      const { name, input } = callOf({ name: block.name, input: block.input });
      return `call ${idOf(block.id)} ${name} ${JSON.stringify(input)}`;
    }
    case "tool_result": {
      const { content = "" } = block;
      const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
      const texts = parts.map((part) => partOf(part, how)).filter((part) => part !== "");
      return `result ${idOf(block.tool_use_id)} ${block.is_error === true} ${texts.join("\n")}`;
    }
    case "image":
      return `image ${block.source.data ?? block.source}`;
    default:
      return JSON.stringify(block);
  }
}

/** Throws an error with the first difference between two lists. */
export function compare(found, expected) {
  const length = Math.max(found.length, expected.length);
  for (let index = 0; index < length; index++) {
    if (found[index] === expected[index]) continue;
    throw new Error(`number ${index + 1} differs:\n  found    ${found[index]}\n  expected ${expected[index]}`);
  }
}
