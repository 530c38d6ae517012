// Makes the running pi send a context to a provider on this machine, and returns what it sent.

import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { accepted } from "../lib/accepted.mjs";
import { recorder } from "./recorder.mjs";

const NAMES = { anthropic: "anthropic-messages", openai: "openai-completions", "openai-responses": "openai-responses", google: "google-generative-ai" };
const PROFILES = { anthropic: ["anthropic", "claude-sonnet-4-5"], openai: ["openai", "gpt-5.1"], "openai-responses": ["openai", "gpt-5.1"], google: ["google", "gemini-3.1-pro-preview"] };

let started;

/** Returns the body of a request with these messages. `model` is `[provider, id]`, or absent for the fixed one. */
export async function body(pi, { api, model }, all) {
  const messages = accepted(api, all);
  const { streamSimple, getModel, record } = await (started ??= start(pi));
  const [provider, id] = model ?? author(api, all) ?? PROFILES[api];
  const target = { ...getModel(...PROFILES[api]), provider, id, api: NAMES[api], baseUrl: record.url };
  // For models other than the fixed ones, pisess omits what not every model supports.
  if (provider !== PROFILES[api][0]) target.compat = { supportsStrictTools: false, supportsEagerToolInputStreaming: false, supportsDeveloperRole: api === "openai-responses", supportsStrictMode: api === "openai-responses" };
  const options = { apiKey: "sk-recorded", cacheRetention: "none", maxRetries: 0 };
  // Models with bound blocks: pisess sends one system prompt, and no effort.
  if (api === "anthropic" && getModel(provider, id)?.compat?.supportsMidConvoEffort) {
    target.compat = { ...target.compat, supportsMidConvoEffort: true, supportsMidConvoSystemMessages: false, supportsMidConvoToolChanges: false };
    options.reasoning = "high";
  }
  let ended;
  const sent = await record.sent(async () => {
    for await (const event of streamSimple(target, { messages: messages.map(counted) }, options)) ended = event;
  });
  const isEmpty = ended?.error?.errorMessage?.includes("contents are required");
  if (sent.length !== 1 && !isEmpty) throw new Error(`pi sent ${sent.length} requests: ${ended?.error?.errorMessage}`);
  return { id, ...sent[0] };
}

/** Returns the model that wrote the last assistant message, if it belongs to the API. */
function author(api, messages) {
  const last = messages.findLast(({ role }) => role === "assistant");
  return last?.api === NAMES[api] && last.provider && last.model ? [last.provider, last.model] : undefined;
}

/** Adds usage to assistant messages without it, on which pi throws; it is not part of a body. */
function counted(message) {
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };
  return message.role === "assistant" && !message.usage ? { ...message, usage } : message;
}

/** Loads pi's senders from its bundle; the name of the file that contains them changes with each build. */
async function start(pi) {
  const chunks = resolve(pi, "dist/bundle/chunks");
  const has = (name) => /export\{[^}]*\bstreamSimpleAnthropic\b[^}]*\bstreamSimple\b/.test(readFileSync(join(chunks, name), "utf8").slice(-6000));
  const name = readdirSync(chunks).find((name) => name.endsWith(".js") && has(name));
  if (!name) throw new Error(`no sender in ${chunks}`);
  const { streamSimple, getModel, registerBuiltInApiProviders } = await import(pathToFileURL(join(chunks, name)).href);
  registerBuiltInApiProviders?.();
  return { streamSimple, getModel, record: await recorder() };
}
