// Claude Code: how it is run, what it sends, and the sessions that it records.

import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Terminal } from "./terminal.mjs";
import { PICTURE } from "./picture.mjs";
import { linesOf, signalGroup, waitUntil } from "./place.mjs";

/** Returns the driver of Claude Code; `modules` is where it is installed, `node` the Node that it needs. */
export function claudeCode({ modules, node }) {
  return {
    name: "claude",
    title: "Claude Code",
    api: "anthropic",
    program: [node, join(modules, "@anthropic-ai", "claude-code", "cli-wrapper.cjs")],
    variables: (place) => ({
      ANTHROPIC_BASE_URL: place.url,
      ANTHROPIC_API_KEY: "x",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_AUTOUPDATER: "1",
    }),
    setUp: () => {},
    resume: (session, prompt) => ["-p", "--resume", session, prompt],
    messagesOf: (body) => body.messages,
    modelOf: ({ model }) => `anthropic/${model}`,
    recorded: { textOf, withoutTypes: ["claude.file"] },
    recordsUsageOfSummaries: false,
    isAside: () => false,
    continued: { textOf, callOf },
    store: ".claude/projects",
    Desk: ClaudeDesk,
    cases: CASES,
    notDriven: NOT_DRIVEN,
  };
}

/** Removes what Claude Code adds to the texts of a request: reminders, and words around messages sent while it works. */
function textOf(text) {
  const sent = /^The user sent a new message while you were working:\n([^]*?)\n\nThis is how Claude Code surfaces/.exec(text);
  if (sent) return sent[1];
  const [notification] = /<task-notification>[^]*<\/task-notification>/.exec(text) ?? [];
  return notification ?? text.replace(/<system-reminder>[^]*?<\/system-reminder>/g, "");
}

/** Returns a call of any agent with the name and the arguments that Claude Code has for the same tool. */
function callOf({ name, input }) {
  const file_path = input.path;
  switch (name) {
    case "bash":
      return { name: "Bash", input: { command: input.command, timeout: input.timeout && input.timeout * 1000 } };
    case "exec_command":
      return { name: "Bash", input: { command: input.cmd } };
    case "shell":
      return { name: "Bash", input: { command: input.command.at(-1) } };
    case "read":
      return { name: "Read", input: { file_path, offset: input.offset, limit: input.limit } };
    case "write":
      return { name: "Write", input: { file_path, content: input.content } };
    case "edit": {
      const [{ oldText: old_string, newText: new_string }] = input.edits ?? [input];
      return { name: "Edit", input: { file_path, old_string, new_string } };
    }
    default:
      return { name, input };
  }
}

/** Drives Claude Code in one place, and notes what the user said. */
class ClaudeDesk {
  constructor(agent, place) {
    Object.assign(this, { agent, place, prompts: [] });
  }

  /** Asks once, in a session of its own or with arguments that continue one; returns what was printed. */
  ask(prompt, args = [], options = {}) {
    if (!prompt.startsWith("/")) this.prompts.push(prompt);
    const { agent, place } = this;
    const command = [...agent.program, "-p", "--permission-mode", "bypassPermissions", ...args, prompt];
    const variables = { ...agent.variables(place), ...ROOT, ...options.variables };
    return place.run(command, { ...options, variables });
  }

  /** Starts Claude Code so that it reads messages while it works. */
  talk(args = []) {
    const { agent, place } = this;
    const streams = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
    const command = [...agent.program, "-p", "--permission-mode", "bypassPermissions", ...streams, ...args];
    return new Talk(this, place.converse(command, { ...agent.variables(place), ...ROOT }));
  }

  /** Starts Claude Code in a terminal. */
  async terminal() {
    const { agent, place } = this;
    const project = { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true };
    const settings = {
      hasCompletedOnboarding: true,
      theme: "dark",
      bypassPermissionsModeAccepted: true,
      customApiKeyResponses: { approved: ["x"], rejected: [] },
      projects: { [place.project]: project },
    };
    writeFileSync(join(place.home, ".claude.json"), JSON.stringify(settings));
    const command = [...agent.program, "--permission-mode", "bypassPermissions"];
    const terminal = new Terminal(agent, place, command, { ...agent.variables(place), ...ROOT });
    await terminal.shows("bypass permissions on");
    return terminal;
  }

  /** Types prompts, and waits for the answers. A prompt that calls a tool has two. */
  async type(terminal, ...prompts) {
    for (const prompt of prompts) {
      this.prompts.push(prompt);
      await terminal.answers(prompt.startsWith("run: ") ? 2 : 1, () => terminal.type(prompt));
    }
  }

  /** Returns the ids of the sessions, without those of sub-agents. */
  sessions() {
    const files = this.place.files(this.agent.store, ".jsonl");
    return files.map((file) => file.slice(0, -".jsonl".length).split("/").at(-1)).filter((id) => !id.startsWith("agent-"));
  }
}

/** Without it, Claude Code refuses to run without permissions as root. */
const ROOT = { IS_SANDBOX: "1" };

class Talk {
  constructor(desk, conversation) {
    Object.assign(this, { desk, conversation });
  }

  /** Says something, and does not wait. `content` may have images. */
  say(content) {
    const text = typeof content === "string" ? content : content.find(({ type }) => type === "text").text;
    this.desk.prompts.push(text);
    this.conversation.send({ type: "user", uuid: randomUUID(), message: { role: "user", content } });
  }

  /** Says something, and waits for the end of the turn. */
  async ask(content) {
    const from = this.conversation.heard.length;
    this.say(content);
    await this.turnEnds(from);
  }

  turnEnds(from = this.conversation.heard.length) {
    return this.conversation.hearing("result", ({ type }) => type === "result", from);
  }

  /** Asks Claude Code itself for something, and returns the answer. */
  async control(request) {
    const request_id = randomUUID();
    this.conversation.send({ type: "control_request", request_id, request });
    const { response } = await this.conversation.hearing(
      request.subtype,
      (message) => message.type === "control_response" && message.response.request_id === request_id,
    );
    if (response.subtype !== "success") throw new Error(`${request.subtype}: ${response.error}`);
    return response.response;
  }

  end() {
    return this.conversation.end();
  }
}

const CONTINUE = ["--continue"];

const CASES = {
  "plain turns": {
    isShort: true,
    async run(desk) {
      await desk.ask("How is the wind?");
      await desk.ask("think: Kites need wind.", CONTINUE);
      await desk.ask("And tomorrow?\n\nI mean at noon.", CONTINUE);
    },
  },

  "tools": {
    isShort: true,
    async run(desk) {
      await desk.ask("run: echo one");
      await desk.ask(`write: ${desk.place.project}/kite.txt A kite of paper.`, CONTINUE);
      await desk.ask("run: exit 3", CONTINUE);
      await desk.ask(`look: ${desk.place.project}/kite.txt`, CONTINUE);
    },
  },

  "parallel calls": {
    async run(desk) {
      await desk.ask("run: echo one; echo two; echo three");
      await desk.ask("think: Both at once.\nrun: sleep 0.3; exit 4", CONTINUE);
      await desk.ask("Thank you.", CONTINUE);
    },
  },

  "interrupted by a signal": {
    expects: { cut: 1 },
    async run(desk) {
      await desk.ask("Good morning.");
      await desk.ask("slow: 300", CONTINUE, { mayFail: true, during: (child) => interruptStream(desk, child) });
      await desk.ask("And now?", CONTINUE);
    },
  },

  "interrupted while it speaks": {
    expects: { cut: 1 },
    async run(desk) {
      const talk = desk.talk();
      await talk.ask("Good morning.");
      const from = talk.conversation.heard.length;
      talk.say("slow: 300");
      await streamBegins(desk);
      await talk.control({ subtype: "interrupt" });
      await talk.turnEnds(from);
      await talk.ask("And now?");
      await talk.end();
    },
  },

  "interrupted while a tool runs": {
    async run(desk) {
      const talk = desk.talk();
      const from = talk.conversation.heard.length;
      talk.say("run: sleep 30");
      await talk.conversation.hearing("call", ({ type }) => type === "assistant");
      await new Promise((resolve) => setTimeout(resolve, 500));
      await talk.control({ subtype: "interrupt" });
      await talk.turnEnds(from);
      await talk.ask("And now?");
      await talk.end();
    },
  },

  "failing API": {
    expects: { refused: 3 },
    async run(desk) {
      const quick = { variables: { CLAUDE_CODE_OVERLOADED_RETRY_BASE_DELAY_MS: "10", CLAUDE_CODE_OVERLOADED_RETRY_MAX_DELAY_MS: "20" } };
      await desk.ask("Try it.\nfail: 500, 429", [], quick);
      await desk.ask("And again?\nfail: 400", CONTINUE, { ...quick, mayFail: true });
      await desk.ask("Go on.", CONTINUE);
    },
  },

  "message while it works": {
    async run(desk) {
      const talk = desk.talk();
      const from = talk.conversation.heard.length;
      talk.say("run: sleep 2; echo done");
      await talk.conversation.hearing("call", ({ type }) => type === "assistant");
      talk.say("Use the other kite.");
      await talk.turnEnds(from);
      await talk.ask("Thank you.");
      await talk.end();
    },
  },

  "earlier message edited": {
    expects: { tips: 2 },
    async run(desk) {
      await desk.ask("The first question.");
      await desk.ask("The second question.", CONTINUE);
      await desk.ask("The third question.", CONTINUE);
      const [session] = desk.sessions();
      const [file] = desk.place.files(desk.agent.store, ".jsonl");
      const answers = linesOf(file).map((line) => JSON.parse(line)).filter(({ type }) => type === "assistant");
      await desk.ask("The second question, otherwise.", ["--resume", session, "--resume-session-at", answers[0].uuid]);
      await desk.ask("Its next question.", ["--resume", session]);
    },
  },

  "conversation rewound": {
    expects: { tips: 2 },
    async run(desk) {
      const talk = desk.talk();
      await talk.ask("The first question.");
      await talk.ask("run: echo two");
      const [file] = desk.place.files(desk.agent.store, ".jsonl");
      const said = linesOf(file).map((line) => JSON.parse(line)).find(({ message }) => message?.content === "run: echo two");
      await talk.control({ subtype: "rewind_conversation", target_message_uuid: said.uuid });
      await talk.ask("The second question, otherwise.");
      await talk.end();
    },
  },

  "fork": {
    expects: { sessions: 2 },
    async run(desk) {
      await desk.ask("run: echo one");
      const [session] = desk.sessions();
      await desk.ask("In the fork.", ["--resume", session, "--fork-session"]);
      await desk.ask("In the original.", ["--resume", session]);
    },
  },

  "resumed by name": {
    async run(desk) {
      await desk.ask("The first question.", ["--name", "Kites and wind"]);
      await desk.ask("run: echo two", ["--resume", "Kites and wind"]);
    },
  },

  "compacted by hand": {
    expects: { compactions: 1 },
    isShort: true,
    async run(desk) {
      await desk.ask("The first question.");
      await desk.ask("run: echo two", CONTINUE);
      await desk.ask("/compact Keep the wind in mind.", CONTINUE);
      await desk.ask("After the compaction.", CONTINUE);
    },
  },

  "compacted by itself": {
    expects: { compactions: 1 },
    async run(desk) {
      await desk.ask("The first question.");
      await desk.ask("run: echo two\nweigh: 990000", CONTINUE);
      await desk.ask("After the compaction.", CONTINUE);
    },
  },

  "compacted twice": {
    expects: { compactions: 2 },
    async run(desk) {
      await desk.ask("The first question.");
      await desk.ask("/compact", CONTINUE);
      await desk.ask("run: echo two; echo three", CONTINUE);
      await desk.ask("think: Wind.\nrun: echo four", CONTINUE);
      await desk.ask("/compact", CONTINUE);
      await desk.ask("After both.", CONTINUE);
    },
  },

  "fork after a compaction": {
    expects: { sessions: 2, compactions: 2 },
    async run(desk) {
      await desk.ask("The first question.");
      await desk.ask("run: echo two", CONTINUE);
      await desk.ask("/compact", CONTINUE);
      await desk.ask("After the compaction.", CONTINUE);
      const [session] = desk.sessions();
      await desk.ask("In the fork.", ["--resume", session, "--fork-session"]);
      await desk.ask("In the original.", ["--resume", session]);
    },
  },

  "sub-agent": {
    expects: { sessions: 2, subAgents: 1 },
    async run(desk) {
      await desk.ask("delegate: run: echo from the sub-agent");
      await desk.ask("Thank you.", CONTINUE);
    },
  },

  "sub-agents at once": {
    expects: { sessions: 3, subAgents: 2 },
    async run(desk) {
      await desk.ask("delegate: run: echo from one; run: echo from another");
      await desk.ask("Thank you.", CONTINUE);
    },
  },

  "sub-agent in the background": {
    expects: { sessions: 2, subAgents: 1 },
    async run(desk) {
      await desk.ask("background: run: echo from the sub-agent");
      await desk.ask("Thank you.", CONTINUE);
    },
  },

  "permission refused": {
    async run(desk) {
      await desk.ask("run: touch kite.txt", ["--permission-mode", "dontAsk"]);
      await desk.ask("Thank you.", CONTINUE);
    },
  },

  "model changed": {
    async run(desk) {
      await desk.ask("think: Kites need wind.\nrun: echo one", ["--model", "opus"]);
      await desk.ask("think: Or a string.", [...CONTINUE, "--model", "sonnet"]);
      await desk.ask("And now?", [...CONTINUE, "--model", "opus"]);
    },
  },

  "messages while it works": {
    async run(desk) {
      const talk = desk.talk();
      const from = talk.conversation.heard.length;
      talk.say("run: sleep 2; echo done");
      await talk.conversation.hearing("call", ({ type }) => type === "assistant");
      talk.say("Use the other kite.");
      talk.say("And the longer string.\n\nAs always.");
      await talk.turnEnds(from);
      await talk.ask("Thank you.");
      await talk.end();
    },
  },

  "in a terminal": {
    expects: { cut: 1 },
    async run(desk) {
      const terminal = await desk.terminal();
      await desk.type(terminal, "How is the wind?", "run: echo two");
      await terminal.answers(1, async () => {
        desk.prompts.push("slow: 300");
        await terminal.type("slow: 300");
        await streamBegins(desk);
        await terminal.press("Escape");
      });
      await terminal.answers(1, () => terminal.type("!echo by hand"));
      await terminal.answers(2, async () => {
        await terminal.type("run: sleep 2");
        await terminal.type("While you work.");
      });
      desk.prompts.push("run: sleep 2", "While you work.");
      await desk.type(terminal, "Thank you.");
    },
  },

  "rewound in a terminal": {
    expects: { tips: 2 },
    async run(desk) {
      const terminal = await desk.terminal();
      await desk.type(terminal, "How is the wind?", "run: echo two", "The third question.");
      await rewind(terminal, 2);
      desk.prompts.push("run: echo two otherwise");
      await terminal.answers(2, () => terminal.type(" otherwise"));
      await desk.type(terminal, "Its next question.");
    },
  },

  "rewound past a compaction": {
    expects: { compactions: 1, tips: 2 },
    async run(desk) {
      const terminal = await desk.terminal();
      await desk.type(terminal, "How is the wind?", "run: echo two");
      await terminal.answers(1, () => terminal.type("/compact"));
      await terminal.shows("Compacted");
      await desk.type(terminal, "After the compaction.");
      await rewind(terminal, 3);
      desk.prompts.push("run: echo two otherwise");
      await terminal.answers(2, () => terminal.type(" otherwise"));
    },
  },

  "rewound twice": {
    expects: { tips: 3 },
    async run(desk) {
      const terminal = await desk.terminal();
      await desk.type(terminal, "How is the wind?", "The second question");
      await rewind(terminal, 1);
      desk.prompts.push("The second question, otherwise");
      await terminal.answers(1, () => terminal.type(", otherwise"));
      await rewind(terminal, 1);
      desk.prompts.push("The second question, otherwise, again");
      await terminal.answers(1, () => terminal.type(", again"));
      await desk.type(terminal, "run: echo five");
    },
  },

  "summarized from a message on": {
    expects: { compactions: 1, tips: 2 },
    async run(desk) {
      const terminal = await desk.terminal();
      await desk.type(terminal, "How is the wind?", "run: echo two", "The third question.");
      await terminal.answers(1, () => rewind(terminal, 2, 1));
      // The message from which on it was summarized is in the prompt again.
      await terminal.press("C-u");
      await desk.type(terminal, "After the summary.");
    },
  },

  "summarized up to a message": {
    expects: { compactions: 1 },
    async run(desk) {
      const terminal = await desk.terminal();
      await desk.type(terminal, "How is the wind?", "run: echo two", "The third question.");
      await terminal.answers(1, () => rewind(terminal, 2, 2));
      await desk.type(terminal, "After the summary.");
    },
  },

  "cleared in a terminal": {
    expects: { sessions: 2 },
    async run(desk) {
      const terminal = await desk.terminal();
      await desk.type(terminal, "How is the wind?");
      await terminal.type("/clear");
      await terminal.shows("/clear");
      await desk.type(terminal, "run: echo anew");
    },
  },

  "images": {
    async run(desk) {
      writeFileSync(join(desk.place.project, "kite.png"), Buffer.from(PICTURE, "base64"));
      const talk = desk.talk();
      const source = { type: "base64", media_type: "image/png", data: PICTURE };
      await talk.ask([{ type: "text", text: "What is in this picture?" }, { type: "image", source }]);
      await talk.ask(`look: ${desk.place.project}/kite.png`);
      await talk.end();
    },
  },

  "file mentioned": {
    async run(desk) {
      writeFileSync(join(desk.place.project, "kite.txt"), "A kite of paper.\n");
      await desk.ask("What is in @kite.txt ?");
      await desk.ask("And now?", CONTINUE);
    },
  },

  "very long session": {
    async run(desk) {
      const talk = desk.talk();
      for (let turn = 1; turn <= 150; turn++) await talk.ask(turn % 3 === 0 ? `run: echo ${turn}` : `Question ${turn}.`);
      await talk.end();
      await desk.ask("The last question.", CONTINUE);
    },
  },
};

const NOT_DRIVEN = {};

/** Goes back to the message that is some prompts above, and chooses what to do: 0 restores the conversation. */
async function rewind(terminal, promptCount, choice = 0) {
  await terminal.press("Escape", "Escape");
  await terminal.shows("(current)");
  await terminal.press(...Array(promptCount).fill("Up"), "Enter");
  await terminal.shows("Never mind");
  await terminal.press(...Array(choice).fill("Down"), "Enter");
  await terminal.shows("bypass permissions on");
}

async function interruptStream(desk, child) {
  await streamBegins(desk);
  signalGroup(child, "SIGINT");
}

/** Waits until the model has been speaking for a moment. */
async function streamBegins({ place }) {
  await waitUntil("slow answer", () => place.exchanges.at(-1)?.prompt.includes("slow: "));
  await new Promise((resolve) => setTimeout(resolve, 700));
}
