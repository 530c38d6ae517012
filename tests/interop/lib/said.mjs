// Returns what a body contains for the model, for any API. oh-my-pi's bodies differ in form from those of pisess
// (docs/requests.md), so they are compared by what the model reads.

/** Returns `{steps, images}`: the texts, calls and results in order, and the data of all images. */
export function said(api, body) {
  const items = body.messages ?? body.input ?? body.contents ?? [];
  const images = [];
  const calls = [];
  const steps = [];
  const add = (step, words) => {
    const text = words.filter((word) => word && !FORM.some((form) => form.test(word.trim()))).map(plainly).join("");
    if (!text && step.result === undefined) return;
    // oh-my-pi moves the text of a turn to before its calls.
    let at = steps.length;
    while (step.by === "model" && steps[at - 1]?.call !== undefined) at--;
    const last = steps[at - 1];
    if (last?.by && last.by === step.by) last.text += text;
    else steps.splice(at, 0, { ...step, text });
  };
  const read = {
    user: (words) => add({ by: "user" }, words),
    model: (words) => add({ by: "model" }, words),
    call: (id, name, args) => (calls.push(id), steps.push({ call: calls.length - 1, name, args })),
    result: (id, words) => add({ result: calls.lastIndexOf(id) }, words),
    // oh-my-pi treats a block of unknown type as an image, but has no data for it.
    image: (data) => data !== "undefined" && /^[A-Za-z0-9+/=]+$/.test(data ?? "") && images.push(data),
  };
  for (const item of items) READERS[api](item, read);
  return { steps, images: images.sort() };
}

const READERS = {
  anthropic({ role, content }, read) {
    for (const block of blocks(content)) {
      if (block.type === "text") role === "user" ? read.user([block.text]) : read.model([block.text]);
      if (block.type === "image") read.image(block.source.data);
      if (block.type === "tool_use") read.call(block.id, block.name, block.input);
      if (block.type !== "tool_result") continue;
      read.result(block.tool_use_id, blocks(block.content).filter(({ type }) => type === "text").map(({ text }) => text));
      for (const { type, source } of blocks(block.content)) if (type === "image") read.image(source.data);
    }
  },
  openai({ role, content, tool_calls, tool_call_id }, read) {
    const texts = blocks(content).flatMap(({ type, text }) => (type === "text" ? [text] : []));
    for (const { type, image_url } of blocks(content)) if (type === "image_url") read.image(image_url.url.split(",")[1]);
    if (role === "tool") read.result(tool_call_id, texts);
    else if (role === "assistant") read.model(texts);
    else read.user(texts);
    for (const { id, function: { name, arguments: args } } of tool_calls ?? []) read.call(id, name, JSON.parse(args));
  },
  "openai-responses"(item, read) {
    const parts = blocks(item.content ?? item.output);
    const texts = parts.flatMap(({ text } = {}) => (text === undefined ? [] : [text]));
    for (const { image_url } of parts) if (image_url) read.image(image_url.split(",")[1]);
    if (item.type === "function_call") read.call(item.call_id, item.name, JSON.parse(item.arguments));
    else if (item.type === "function_call_output") read.result(item.call_id, texts);
    else if (item.role === "assistant") read.model(texts);
    else if (item.role) read.user(texts);
  },
  google({ role, parts }, read) {
    for (const part of parts) {
      if (part.functionCall) read.call(part.functionCall.id, part.functionCall.name, part.functionCall.args);
      else if (part.functionResponse) {
        read.result(part.functionResponse.id, [part.functionResponse.response.output ?? part.functionResponse.response.error]);
        for (const { inlineData } of part.functionResponse.parts ?? []) read.image(inlineData.data);
      } else if (part.inlineData) read.image(part.inlineData.data);
      else if (!part.thought) role === "user" ? read.user([part.text]) : read.model([part.text]);
    }
  },
};

const blocks = (content) => (typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []));

/** Notes in place of an image in a result. */
const NOTES = /\(image omitted: its data is not in the session\)|\(image attached after the tool results\)/g;

/** Removes spaces: the senders join blocks with different ones. */
const plainly = (text) => text.replace(NOTES, "").replace(/\s+/g, "");

/** Texts that only the form of a body requires. */
const FORM = [/^\(see attached image\)$/, /^\(no tool output\)$/, /^\(no earlier message\)$/, /^Continue\.$/, /^Attached image\(s\) from (the )?tool result(\(s\) above)?:$/, /^Images from the error result of tool call \S+ \(\S+\):$/];
