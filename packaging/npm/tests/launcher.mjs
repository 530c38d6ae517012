// Compares runs by the launcher with runs of the binary: as JavaScript, in a Node that can replace its process and in
// one that cannot, and replaced by the binary.

import { copyFileSync, cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, checkEqual, endBySignal, run, runAny } from "./checks.mjs";
import { newUser } from "./registry.mjs";

/** Runs a command at a terminal of 24 rows and 100 columns, and prints what it printed there. */
const AT_A_TERMINAL = `
import fcntl, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:
        break
    if not data:
        break
    os.write(1, data)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

export async function checkLauncher(lab) {
  const env = newUser(lab.registry, "launcher");
  const prefix = join(env.HOME, "prefix");
  run(["npm", "install", "--global", "--prefix", prefix, "pisess"], { env });
  const installed = join(prefix, "lib/node_modules/pisess/bin/pisess");
  const link = join(prefix, "bin/pisess");

  // Called by its own path, the launcher stays JavaScript.
  const source = readFileSync(installed);
  await checkSameAsBinary("the launcher", [process.execPath, installed], { ...lab, env });
  await checkSameAsBinary("the launcher in a newer Node", [lab.newNode, installed], { ...lab, env });
  check("the launcher is kept", source.equals(readFileSync(installed)));

  run([link, "--version"], { env });
  check("the launcher is replaced", readFileSync(lab.binary).equals(readFileSync(installed)));
  await checkSameAsBinary("the replaced launcher", [link], { ...lab, env });

  // Writing to it would write to the binary, too.
  rmSync(installed);
  writeFileSync(installed, source);
  checkFailures(lab, env);
  const nothing = join(env.HOME, "nothing.js");
  writeFileSync(nothing, "");
  const programs = {
    "the binary, which is also the replaced launcher": [lab.binary],
    "the launcher": [process.execPath, installed],
    "its Node alone": [process.execPath, nothing],
    "the launcher in a newer Node": [lab.newNode, installed],
    "that Node alone": [lab.newNode, nothing],
  };
  reportStart(programs, env);
}

async function checkSameAsBinary(name, program, { binary, session, env }) {
  for (const args of [["grep", "no such words", session], ["tree", "missing.jsonl"], ["tree"], ["--version"]]) {
    checkEqual(`${name}: ${args.join(" ")}`, runAny([binary, ...args], { env }), runAny([...program, ...args], { env }));
  }

  const input = readFileSync(session);
  checkEqual(`${name}: standard input`, runAny([binary, "tree", "-"], { env, input }), runAny([...program, "tree", "-"], { env, input }));

  const piped = ["bash", "-c", 'set -o pipefail; "$@" | head -n 1', "bash"];
  const shown = runAny([...piped, ...program, "tree", session], { env });
  checkEqual(`${name}: a closed pipe`, runAny([...piped, binary, "tree", session], { env }), shown);

  const terminal = ["python3", "-c", AT_A_TERMINAL];
  const drawn = run([...terminal, binary, "tree", session], { env: { ...env, TERM: "xterm", PAGER: "cat" } });
  check("the binary uses colours at a terminal", drawn.stdout.includes("\x1b["), drawn.stdout);
  checkEqual(`${name}: a terminal`, drawn, run([...terminal, ...program, "tree", session], { env: { ...env, TERM: "xterm", PAGER: "cat" } }));

  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) {
    for (const toGroup of [false, true]) {
      // With what was said before, so that something is printed before the signal.
      const follow = ["grep", "--follow", "--since", "2000-01-01", "midnight", session];
      const expected = await endBySignal([binary, ...follow], signal, { env, toGroup });
      const found = await endBySignal([...program, ...follow], signal, { env, toGroup });
      checkEqual(`${name}: ${signal}${toGroup ? " to the group" : ""}`, expected, found);
    }
  }
}

/** Checks what the launcher prints if there is no binary. */
function checkFailures({ newNode, root }, env) {
  const alone = join(env.HOME, "alone/pisess");
  const whole = join(env.HOME, "prefix/lib/node_modules/pisess");
  cpSync(whole, alone, { recursive: true, filter: (from) => !from.includes("@pisess") });
  const launcher = join(alone, "bin/pisess");
  copyFileSync(join(root, "packaging/npm/pisess.js"), launcher);

  const otherMachine = join(env.HOME, "other-machine.js");
  writeFileSync(otherMachine, 'Object.defineProperty(process, "arch", { value: "mips" });');
  const platform = `${process.platform}-${process.arch}`;
  const empty = join(alone, "node_modules/@pisess", platform);
  for (const node of [process.execPath, newNode]) {
    checkFails(/^pisess: there is no binary for \w+-mips \(hint: .*cargo install.*\)\n$/, [node, "--require", otherMachine, launcher], env);
    checkFails(/^pisess: the package @pisess\/\S+ is not installed \(hint: .*\)\n$/, [node, launcher], env);
  }

  cpSync(join(whole, "node_modules/@pisess", platform), empty, { recursive: true, filter: (from) => !from.endsWith("/pisess") });
  for (const node of [process.execPath, newNode]) checkFails(/^pisess: cannot run .*ENOENT.* \(hint: .*\)\n$/, [node, launcher], env);
}

function checkFails(pattern, command, env) {
  const { status, stderr } = runAny([...command, "tree"], { env });
  check(`${pattern}`, status === 2 && pattern.test(stderr), `exit ${status}, ${stderr}`);
}

/** Prints the least time of a start of each program. No check depends on it. */
function reportStart(programs, env) {
  for (const [name, program] of Object.entries(programs)) {
    let least = Infinity;
    for (let turn = 0; turn < 20; turn++) {
      const start = process.hrtime.bigint();
      run([...program, "--version"], { env });
      least = Math.min(least, Number(process.hrtime.bigint() - start) / 1e6);
    }
    console.log(`start of ${name}: ${least.toFixed(1)} ms`);
  }
}
