// Codex: how it is run, what it sends, and the sessions that it records.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PICTURE } from "./picture.mjs";
import { signalGroup, waitUntil } from "./place.mjs";
import { messagesOfItems } from "./said.mjs";
import { Terminal } from "./terminal.mjs";

/** Returns the driver of Codex; `modules` is where it is installed, `node` the Node that it needs. */
export function codex({ modules, node }) {
  return {
    name: "codex",
    title: "Codex",
    api: "openai-responses",
    program: [node, join(modules, "@openai", "codex", "bin", "codex.js")],
    variables: () => ({ MODEL_KEY: "x" }),
    setUp,
    resume: (session, prompt) => ["exec", "--skip-git-repo-check", "resume", session, prompt],
    messagesOf: (body) => messagesOfItems(body.input),
    modelOf: () => undefined,
    recorded: { textOf: withoutInstructions, roleOf: ({ role }) => (role === "developer" ? "user" : role), withoutTypes: [] },
    recordsUsageOfSummaries: true,
    // In a terminal, Codex has the model make a title.
    isAside: ({ prompt }) => prompt.startsWith("Generate a concise, single-line task title"),
    continued: { textOf, callOf },
    store: ".codex/sessions",
    Desk: CodexDesk,
    cases: CASES,
    notDriven: NOT_DRIVEN,
  };
}

/** Lets Codex use the model. */
function setUp(place) {
  const config = `model = "gpt-5.1"
model_provider = "script"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.script]
name = "script"
base_url = "${place.url}/v1"
wire_api = "responses"
env_key = "MODEL_KEY"
[projects."${place.project}"]
trust_level = "trusted"
`;
  mkdirSync(join(place.home, ".codex"), { recursive: true });
  writeFileSync(join(place.home, ".codex", "config.toml"), config);
}

/** Removes the text that Codex adds to a continued session. */
function textOf(text) {
  return text.startsWith("<environment_context>") ? "" : text;
}

/** Removes the instructions for a model that Codex does not know. They are not in the session. */
function withoutInstructions(text) {
  return text.startsWith("You are a coding agent running in the Codex CLI") ? "" : text;
}

/** Returns a call of any agent with the name and the arguments that Codex has for the same tool. */
function callOf({ name, input }) {
  const path = input.path ?? input.file_path;
  const lines = (mark, text) => text.replace(/\n$/, "").split("\n").map((line) => `${mark}${line}\n`).join("");
  const patch = (body) => ({ name: "apply_patch", input: `*** Begin Patch\n${body}*** End Patch` });
  switch (name.toLowerCase()) {
    case "bash":
      return { name: "exec_command", input: { cmd: input.command } };
    case "shell":
      return { name: "exec_command", input: { cmd: input.command.at(-1) } };
    case "read":
      return { name: "exec_command", input: { cmd: `cat '${path}'` } };
    case "write":
      return patch(`*** Add File: ${path}\n${lines("+", input.content)}`);
    case "edit": {
      const [edit] = input.edits ?? [input];
      const [old, text] = [edit.oldText ?? edit.old_string, edit.newText ?? edit.new_string];
      return patch(`*** Update File: ${path}\n@@\n${lines("-", old)}${lines("+", text)}`);
    }
    case "apply_patch":
      return { name, input: input.input };
    default:
      return { name, input };
  }
}

/** Drives Codex in one place, and notes what the user said. */
class CodexDesk {
  constructor(agent, place) {
    Object.assign(this, { agent, place, prompts: [] });
  }

  /** Asks once, with `codex exec`; `args` continue a session. */
  ask(prompt, args = [], options = {}) {
    this.prompts.push(prompt);
    const { agent, place } = this;
    return place.run([...agent.program, "exec", "--skip-git-repo-check", ...args, prompt], { variables: agent.variables(place), ...options });
  }

  /** Starts Codex as a server for an editor. */
  async serve() {
    const { agent, place } = this;
    const server = new Server(this, place.converse([...agent.program, "app-server"], agent.variables(place)));
    const capabilities = { experimentalApi: true, requestAttestation: false };
    await server.request("initialize", { clientInfo: { name: "bench", version: "1" }, capabilities });
    server.conversation.send({ method: "initialized" });
    return server;
  }

  /** Types prompts, and waits for the answers. A prompt that calls a tool has two. */
  async type(terminal, ...prompts) {
    for (const prompt of prompts) {
      this.prompts.push(prompt);
      await terminal.answers(prompt.startsWith("run: ") ? 2 : 1, () => terminal.type(prompt));
    }
  }

  /** Starts Codex as a server, with a thread. */
  async thread(settings = {}) {
    const server = await this.serve();
    const { thread } = await server.request("thread/start", { cwd: this.place.project, ...settings });
    return { server, thread: new Thread(server, thread.id) };
  }
}

/** Codex in a terminal. */
async function openTerminal({ agent, place }) {
  const terminal = new Terminal(agent, place, agent.program, agent.variables(place));
  await terminal.shows("YOLO mode");
  await terminal.shows("for shortcuts");
  return terminal;
}

class Server {
  constructor(desk, conversation) {
    Object.assign(this, { desk, conversation, count: 0 });
  }

  /** Asks Codex itself for something, and returns the result. */
  async request(method, params) {
    this.count += 1;
    const id = this.count;
    this.conversation.send({ id, method, params });
    const answer = await this.conversation.hearing(method, (message) => message.id === id && (message.result || message.error));
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result;
  }

  /** Waits for a notification; `from` is the number of messages to leave out. */
  notified(method, isWanted = () => true, from = 0) {
    return this.conversation.hearing(method, (message) => message.method === method && isWanted(message.params), from);
  }

  end() {
    return this.conversation.end();
  }
}

class Thread {
  constructor(server, id) {
    Object.assign(this, { server, id });
  }

  /** Starts a turn, and returns its id. `input` is a text, or a list with images. */
  async say(input) {
    const parts = typeof input === "string" ? [{ type: "text", text: input, text_elements: [] }] : input;
    this.server.desk.prompts.push(parts.find(({ type }) => type === "text").text);
    const { turn } = await this.server.request("turn/start", { threadId: this.id, input: parts });
    return turn.id;
  }

  /** Starts a turn, waits for its end, and returns its id. */
  async ask(input) {
    const turn = await this.say(input);
    await this.ends(turn);
    return turn;
  }

  ends(turn) {
    return this.server.notified("turn/completed", (params) => params.turn.id === turn);
  }

  async steer(text, turn) {
    this.server.desk.prompts.push(text);
    const input = [{ type: "text", text, text_elements: [] }];
    await this.server.request("turn/steer", { threadId: this.id, input, expectedTurnId: turn });
  }

  async interrupt(turn) {
    await this.server.request("turn/interrupt", { threadId: this.id, turnId: turn });
    await this.ends(turn);
  }

  async compact() {
    const from = this.server.conversation.heard.length;
    await this.server.request("thread/compact/start", { threadId: this.id });
    await this.server.notified("turn/completed", ({ threadId }) => threadId === this.id, from);
  }

  async fork(settings = {}) {
    const { thread } = await this.server.request("thread/fork", { threadId: this.id, ...settings });
    return new Thread(this.server, thread.id);
  }

  revert(turn) {
    return this.server.request("thread/revert", { threadId: this.id, beforeTurnId: turn });
  }
}

const CASES = {
  "plain turns": {
    isShort: true,
    async run(desk) {
      await desk.ask("How is the wind?");
      await desk.ask("think: Kites need wind.", ["resume", "--last"]);
      await desk.ask("And tomorrow?\n\nI mean at noon.", ["resume", "--last"]);
    },
  },

  "tools": {
    isShort: true,
    async run(desk) {
      const { server, thread } = await desk.thread();
      await thread.ask("run: echo one");
      await thread.ask("run: exit 3");
      await thread.ask("think: It failed.\nrun: echo two");
      await server.end();
    },
  },

  "parallel calls": {
    async run(desk) {
      const { server, thread } = await desk.thread();
      await thread.ask("run: echo one; echo two; echo three");
      await thread.ask("think: Both at once.\nrun: sleep 0.3; exit 4");
      await thread.ask("Thank you.");
      await server.end();
    },
  },

  "interrupted by a signal": {
    expects: { cut: 1 },
    async run(desk) {
      await desk.ask("Good morning.");
      const during = async (child) => {
        await streamBegins(desk);
        signalGroup(child, "SIGINT");
      };
      await desk.ask("slow: 300", ["resume", "--last"], { mayFail: true, during });
      await desk.ask("And now?", ["resume", "--last"]);
    },
  },

  "interrupted while it speaks": {
    expects: { cut: 1 },
    async run(desk) {
      const { server, thread } = await desk.thread();
      await thread.ask("Good morning.");
      const turn = await thread.say("slow: 300");
      await streamBegins(desk);
      await thread.interrupt(turn);
      await thread.ask("And now?");
      await server.end();
    },
  },

  "interrupted while a tool runs": {
    async run(desk) {
      const { server, thread } = await desk.thread();
      const turn = await thread.say("run: sleep 30");
      await server.notified("item/started", ({ item }) => item.type === "commandExecution");
      await thread.interrupt(turn);
      await thread.ask("And now?");
      await server.end();
    },
  },

  "failing API": {
    expects: { refused: 3 },
    async run(desk) {
      const { server, thread } = await desk.thread();
      await thread.ask("Try it.\nfail: 500, 503");
      await thread.ask("And again?\nfail: 400");
      await thread.ask("Go on.");
      await server.end();
    },
  },

  "message while it works": {
    async run(desk) {
      const { server, thread } = await desk.thread();
      const turn = await thread.say("run: sleep 2; echo done");
      await server.notified("item/started", ({ item }) => item.type === "commandExecution");
      await thread.steer("Use the other kite.", turn);
      await thread.ends(turn);
      await thread.ask("Thank you.");
      await server.end();
    },
  },

  "earlier message edited": {
    expects: { tips: 2 },
    async run(desk) {
      const { server, thread } = await desk.thread({ historyMode: "paginated" });
      await thread.ask("The first question.");
      const second = await thread.ask("run: echo two");
      await thread.ask("The third question.");
      await thread.revert(second);
      await thread.ask("The second question, otherwise.");
      await thread.ask("Its next question.");
      await server.end();
    },
  },

  "fork": {
    expects: { sessions: 2 },
    async run(desk) {
      const { server, thread } = await desk.thread();
      await thread.ask("run: echo one");
      const fork = await thread.fork();
      await fork.ask("In the fork.");
      await thread.ask("In the original.");
      await server.end();
    },
  },

  "fork at an earlier turn": {
    expects: { sessions: 2 },
    async run(desk) {
      const { server, thread } = await desk.thread({ historyMode: "paginated" });
      const first = await thread.ask("run: echo one");
      await thread.ask("The second question.");
      const fork = await thread.fork({ lastTurnId: first });
      await fork.ask("In the fork.");
      await thread.ask("In the original.");
      await server.end();
    },
  },

  "resumed": {
    async run(desk) {
      const { server, thread } = await desk.thread();
      await thread.ask("The first question.");
      await server.end();
      await desk.ask("run: echo two", ["resume", thread.id]);
      await desk.ask("The third question.", ["resume", thread.id]);
    },
  },

  "compacted by hand": {
    expects: { compactions: 1 },
    isShort: true,
    async run(desk) {
      const { server, thread } = await desk.thread();
      await thread.ask("The first question.");
      await thread.ask("run: echo two");
      await thread.compact();
      await thread.ask("After the compaction.");
      await server.end();
    },
  },

  "compacted by itself": {
    expects: { compactions: 1 },
    async run(desk) {
      const { server, thread } = await desk.thread();
      await thread.ask("The first question.");
      await thread.ask("run: echo two\nweigh: 990000");
      await thread.ask("After the compaction.");
      await server.end();
    },
  },

  "compacted twice": {
    expects: { compactions: 2 },
    async run(desk) {
      const { server, thread } = await desk.thread();
      await thread.ask("The first question.");
      await thread.compact();
      await thread.ask("run: echo two; echo three");
      await thread.ask("think: Wind.\nrun: echo four");
      await thread.compact();
      await thread.ask("After both.");
      await server.end();
    },
  },

  "compacted, then taken back": {
    expects: { compactions: 1, tips: 2 },
    async run(desk) {
      const { server, thread } = await desk.thread({ historyMode: "paginated" });
      await thread.ask("The first question.");
      const second = await thread.ask("run: echo two");
      await thread.compact();
      await thread.ask("After the compaction.");
      await thread.revert(second);
      await thread.ask("The second question, otherwise.");
      await server.end();
    },
  },

  "taken back twice": {
    expects: { tips: 3 },
    async run(desk) {
      const { server, thread } = await desk.thread({ historyMode: "paginated" });
      await thread.ask("The first question.");
      const second = await thread.ask("run: echo two");
      await thread.revert(second);
      const third = await thread.ask("think: Otherwise.\nrun: echo three");
      await thread.revert(third);
      await thread.ask("The second question, again.");
      await server.end();
      await desk.ask("run: echo five", ["resume", thread.id]);
    },
  },

  "fork after a compaction": {
    expects: { sessions: 2, compactions: 2 },
    async run(desk) {
      const { server, thread } = await desk.thread({ historyMode: "paginated" });
      await thread.ask("The first question.");
      await thread.ask("run: echo two");
      await thread.compact();
      await thread.ask("After the compaction.");
      const fork = await thread.fork();
      await fork.ask("In the fork.");
      await thread.ask("In the original.");
      await server.end();
    },
  },

  "legacy history": {
    expects: { sessions: 2, compactions: 1 },
    async run(desk) {
      const { server, thread } = await desk.thread({ historyMode: "legacy" });
      await thread.ask("The first question.");
      await thread.ask("run: echo two");
      const fork = await thread.fork();
      await fork.ask("In the fork.");
      await thread.compact();
      await thread.ask("After the compaction.");
      await server.end();
    },
  },

  "sub-agent": {
    expects: { sessions: 2, subAgents: 1 },
    async run(desk) {
      const { server, thread } = await desk.thread();
      await thread.ask("delegate: run: echo from the sub-agent");
      await thread.ask("Thank you.");
      await server.end();
    },
  },

  "sub-agents at once": {
    expects: { sessions: 3, subAgents: 2 },
    async run(desk) {
      const { server, thread } = await desk.thread();
      await thread.ask("delegate: run: echo from one; run: echo from another");
      await thread.ask("Thank you.");
      await server.end();
    },
  },

  "patch": {
    async run(desk) {
      const { server, thread } = await desk.thread({ model: "gpt-5.4" });
      await thread.ask("patch: kite.txt A kite of paper.");
      await thread.ask("run: cat kite.txt");
      await server.end();
    },
  },

  "model changed": {
    async run(desk) {
      const { server, thread } = await desk.thread();
      await thread.ask("think: Kites need wind.\nrun: echo one");
      await server.request("thread/settings/update", { threadId: thread.id, model: "gpt-5.2" });
      await thread.ask("think: Or a string.");
      await server.end();
    },
  },

  "named and archived": {
    async run(desk) {
      const { server, thread } = await desk.thread();
      await thread.ask("The first question.");
      await server.request("thread/name/set", { threadId: thread.id, name: "Kites and wind" });
      await thread.ask("run: echo two");
      await server.request("thread/archive", { threadId: thread.id });
      await server.end();
    },
    store: ".codex/archived_sessions",
  },

  "in a terminal": {
    expects: { cut: 1 },
    async run(desk) {
      const terminal = await openTerminal(desk);
      await desk.type(terminal, "How is the wind", "run: echo two");
      await terminal.answers(1, async () => {
        desk.prompts.push("slow: 300");
        await terminal.type("slow: 300");
        await streamBegins(desk);
        await terminal.press("Escape");
      });
      await terminal.type("!echo by hand");
      await terminal.shows("by hand");
      await terminal.answers(2, async () => {
        await terminal.type("run: sleep 3");
        await waitUntil("call", () => desk.place.exchanges.at(-1).prompt === "run: sleep 3");
        await terminal.type("While you work.");
      });
      desk.prompts.push("run: sleep 3", "While you work.");
      await desk.type(terminal, "Thank you.");
    },
  },

  "rewound in a terminal": {
    expects: { tips: 2 },
    async run(desk) {
      const terminal = await openTerminal(desk);
      await desk.type(terminal, "How is the wind", "run: echo two", "The third question.");
      await terminal.press("Escape");
      await terminal.shows("esc again");
      await terminal.press("Escape");
      await terminal.shows("Browsing transcript");
      await terminal.press("Left", "Enter");
      await terminal.shows("reverted");
      desk.prompts.push("run: echo two otherwise");
      await terminal.answers(2, () => terminal.type(" otherwise"));
      await desk.type(terminal, "Its next question.");
    },
  },

  "images": {
    async run(desk) {
      const path = join(desk.place.project, "kite.png");
      writeFileSync(path, Buffer.from(PICTURE, "base64"));
      const { server, thread } = await desk.thread();
      const text = { type: "text", text: "What is in this picture?", text_elements: [] };
      await thread.ask([text, { type: "localImage", path }]);
      await thread.ask(`look: ${path}`);
      await server.end();
    },
  },

  "command of the user": {
    async run(desk) {
      const { server, thread } = await desk.thread();
      await thread.ask("The first question.");
      const from = server.conversation.heard.length;
      await server.request("thread/shellCommand", { threadId: thread.id, command: "echo by hand" });
      await server.notified("turn/completed", () => true, from);
      await thread.ask("And now?");
      await server.end();
    },
  },

  "very long session": {
    async run(desk) {
      const { server, thread } = await desk.thread();
      for (let turn = 1; turn <= 200; turn++) await thread.ask(turn % 3 === 0 ? `run: echo ${turn}` : `Question ${turn}.`);
      await server.end();
      await desk.ask("The last question.", ["resume", "--last"]);
    },
  },
};

const NOT_DRIVEN = {
  "compressed rollouts": "rollout/compress is answered, and compresses nothing, not even a file that is 60 days old",
  "remote compaction": "only OpenAI's own servers make it",
};

/** Waits until the model has been speaking for a moment. */
async function streamBegins({ place }) {
  await waitUntil("slow answer", () => place.exchanges.at(-1)?.prompt.includes("slow: "));
  await new Promise((resolve) => setTimeout(resolve, 700));
}
