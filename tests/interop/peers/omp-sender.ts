// Makes the running oh-my-pi send a context to a provider on this machine, and returns what it sent.

import { resolve } from "node:path";
import { recorder } from "./recorder.mjs";

const PROFILES: Record<string, [string, string]> = {
	anthropic: ["anthropic", "claude-sonnet-4-5"],
	openai: ["openai", "gpt-5.1"],
	"openai-responses": ["openai", "gpt-5.1"],
	google: ["google", "gemini-3.1-pro-preview"],
};

let started: Promise<any> | undefined;

/**
 * Returns the body of a request to the API's fixed model with these messages, or `{none}` with the reason if oh-
 * my-pi sends no request.
 */
export async function body(omp: string, { api }: { api: string }, messages: any[]) {
	const { streamSimple, getBundledModel, record } = await (started ??= start(omp));
	const model = getBundledModel(...PROFILES[api]);
	const target = { ...model, baseUrl: record.url, ...(api === "openai" && { api: "openai-completions" }) };
	let ended: any;
	const sent = await record.sent(async () => {
		const options = { apiKey: "sk-recorded", cacheRetention: "none", maxRetries: 0 };
		for await (const event of streamSimple(target, { messages: messages.map(plain) }, options)) ended = event;
	});
	if (sent.length > 1) throw new Error(`oh-my-pi sent ${sent.length} requests`);
	return sent[0] ?? { none: ended?.error?.errorMessage ?? "no request" };
}

/** Removes native histories of the Responses API, which pisess does not replay (docs/requests.md). */
const plain = ({ providerPayload, ...message }: any) => message;

async function start(omp: string) {
	const { streamSimple } = await import(resolve(omp, "../pi-ai/src/stream.ts"));
	const { getBundledModel } = await import(resolve(omp, "../pi-catalog/src/models.ts"));
	return { streamSimple, getBundledModel, record: await recorder() };
}
