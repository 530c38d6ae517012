// Gemini CLI: how it is run, what it sends, and the sessions that it records.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { messagesOfContents } from "./said.mjs";

/** Returns the driver of Gemini CLI; `modules` is where it is installed, `node` the Node that it needs. */
export function geminiCli({ modules, node }) {
  return {
    name: "gemini",
    title: "Gemini CLI",
    api: "google",
    program: [node, join(modules, "@google", "gemini-cli", "bundle", "gemini.js")],
    variables: (place) => ({
      GOOGLE_GEMINI_BASE_URL: place.url,
      GEMINI_API_KEY: "x",
      GEMINI_CLI_TRUST_WORKSPACE: "true",
      GEMINI_TELEMETRY_ENABLED: "false",
    }),
    setUp,
    resume: null,
    messagesOf: (body) => messagesOfContents(body.contents),
    modelOf: () => undefined,
    // pi sends no ids of calls to Google.
    recorded: { textOf, idOf: () => "", withoutTypes: [] },
    recordsUsageOfSummaries: false,
    isAside: () => false,
    store: ".gemini/tmp",
    Desk: GeminiDesk,
    cases: CASES,
    notDriven: NOT_DRIVEN,
  };
}

function setUp(place) {
  const settings = {
    security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
    privacy: { usageStatisticsEnabled: false },
  };
  mkdirSync(join(place.home, ".gemini"), { recursive: true });
  writeFileSync(join(place.home, ".gemini", "settings.json"), JSON.stringify(settings));
}

/** Removes the description of the project, which has other files in each run. */
function textOf(text) {
  return text.startsWith("<session_context>") ? "" : text;
}

/** Drives Gemini CLI in one place, and notes what the user said. */
class GeminiDesk {
  constructor(agent, place) {
    Object.assign(this, { agent, place, prompts: [] });
  }

  /** Asks once, in a session of its own or with arguments that continue one. */
  ask(prompt, args = []) {
    this.prompts.push(prompt);
    const { agent, place } = this;
    const command = [...agent.program, "-y", "-m", "gemini-2.5-pro", ...args, "-p", prompt];
    return place.run(command, { variables: agent.variables(place) });
  }
}

const RESUMED = ["--resume", "latest"];

const CASES = {
  "plain turns": {
    isShort: true,
    async run(desk) {
      await desk.ask("How is the wind?");
      await desk.ask("think: Kites need wind.", RESUMED);
      await desk.ask("And tomorrow?", RESUMED);
    },
  },

  "tools": {
    async run(desk) {
      await desk.ask("run: echo one");
      await desk.ask("run: echo two; exit 3", RESUMED);
      await desk.ask("Thank you.", RESUMED);
    },
  },
};

const NOT_DRIVEN = {
  "rewinds, compactions": "they need a terminal; fixtures/gemini/rewind.jsonl was recorded in one",
};
