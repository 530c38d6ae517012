// Installs pisess into pi and oh-my-pi as their users do, in a home directory without pisess. Each must then list the
// commands, and run one with the binary that came along. The program's path is not on the PATH.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { scriptedModel } from "../../../tests/interop/lib/model.mjs";
import { Rpc } from "../../../tests/interop/lib/rpc.mjs";
import { check, checkEqual, run } from "./checks.mjs";
import { newUser } from "./registry.mjs";

export async function checkAgents(lab) {
  const { newNode, tools, modules } = lab;
  const pi = join(modules, "@earendil-works/pi-coding-agent");
  const omp = join(modules, "@oh-my-pi/pi-coding-agent");
  const model = await scriptedModel();
  try {
    await checkAgent(lab, model, {
      name: "pi",
      program: [newNode, join(pi, binOf(pi))],
      install: ["install", "npm:pisess"],
      open: "--session",
      list: "get_commands",
      switchName: "switch",
      reportsEnd: false,
      settings: ".pi/agent/models.json",
      session: { fixture: "tour.jsonl", cwd: "/home/u/code/ferry", other: "5c07d14b" },
    });
    await checkAgent(lab, model, {
      name: "oh-my-pi",
      program: [tools.bun, join(omp, binOf(omp))],
      install: ["plugin", "install", "pisess"],
      open: "--resume",
      list: "get_available_commands",
      switchName: "switch-branch",
      reportsEnd: true,
      settings: ".omp/agent/models.yml",
      session: { fixture: "omp.jsonl", cwd: "/home/u/photos", other: "5f607182" },
    });
  } finally {
    model.close();
  }
}

async function checkAgent(lab, model, agent) {
  const { name, program, install, open, list, switchName, reportsEnd, settings, session } = agent;
  const env = newUser(lab.registry, name);
  // oh-my-pi starts `bun` to install.
  env.PATH = `${dirname(lab.newNode)}:${dirname(lab.tools.bun)}:${env.PATH}`;
  const project = join(env.HOME, "project");
  mkdirSync(project);
  const file = join(project, "session.jsonl");
  const recorded = readFileSync(join(lab.root, "fixtures", session.fixture), "utf8");
  writeFileSync(file, recorded.replaceAll(session.cwd, project));
  writeSettings(join(env.HOME, settings), model.url(name));

  const options = { cwd: project, env };
  run([...program, ...install], options);
  const select = ["--provider", "mock", "--model", "scripted"];
  const rpc = new Rpc([...program, ...select, "--mode", "rpc", open, file], { ...options, reportsEnd });
  try {
    const { commands } = await rpc.request(list);
    const found = commands.map((command) => command.name.replace(/^\//, ""));
    const wanted = ["branches", switchName, "pop", "undo", "pick"];
    checkEqual(`${name} has the commands`, wanted, wanted.filter((command) => found.includes(command)));
    check(`${name} has the skill`, found.includes("skill:pisess"), found.join(" "));

    const { notify, error } = await rpc.command("/branches");
    const expected = run([lab.binary, "branches", file], options).stdout.trimEnd();
    checkEqual(`${name} runs /branches`, { notify: expected, error: null }, { notify, error });

    // The model has the agent run pisess, as the skill says, and gets its answer. oh-my-pi now has the file open.
    await rpc.turn("run: pisess --version");
    const version = run([lab.binary, "--version"], options).stdout.trimEnd();
    const sent = JSON.stringify(model.sent(name).at(-1)?.messages.at(-1));
    check(`a model in ${name} runs pisess`, sent?.includes(version), sent);

    const switched = await rpc.command(`/${switchName} ${session.other}`);
    checkEqual(`${name} runs /${switchName}`, { error: null, parent: session.other }, { error: switched.error, parent: lastEntry(file).parentId });
    const popped = await rpc.command("/pop");
    checkEqual(`${name} runs /pop`, { error: null, type: "branch_summary" }, { error: popped.error, type: lastEntry(file).type });
    check(`${name} has the question in its editor`, popped.editor !== null, JSON.stringify(popped));

    const summary = lastEntry(file).id;
    await rpc.turn("And now?");
    const ids = run([lab.binary, "path", "--ids", file], options).stdout.split("\n");
    check(`${name} continues after /pop`, ids.includes(summary) && ids.indexOf(summary) < ids.length - 3, ids.join(" "));
    checkEqual(`the session of ${name} is valid`, "", run([lab.binary, "check", file], options).stdout);
  } finally {
    rpc.close();
  }
}

function lastEntry(file) {
  return JSON.parse(readFileSync(file, "utf8").trimEnd().split("\n").at(-1));
}

/** Makes the scripted model known to an agent. */
function writeSettings(file, url) {
  const model = { id: "scripted", name: "scripted", reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 1_000_000, maxTokens: 4000 };
  const provider = { baseUrl: url, api: "anthropic-messages", apiKey: "scripted", models: [model] };
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ providers: { mock: provider } }));
}

/** Returns the path of a package's program, relative to the package. */
function binOf(folder) {
  const { bin } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return typeof bin === "string" ? bin : Object.values(bin)[0];
}
