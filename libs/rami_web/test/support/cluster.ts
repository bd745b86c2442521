/** A real cluster for tests: `rami up --json`, stopped and cleaned up afterwards. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach } from "vitest";

export const WEB = resolve(fileURLToPath(import.meta.url), "../../..");
export const ROOT = resolve(WEB, "../..");
const IN_VENV = join(ROOT, ".venv/bin/python");
const PYTHON = process.env.PYTHON ?? (existsSync(IN_VENV) ? IN_VENV : "python3");

export interface Addresses {
  game: string;
  matchmaking: string;
  edge: string | null;
}

export class Cluster {
  private constructor(
    readonly addresses: Addresses,
    private readonly process: ChildProcess,
    private readonly folder: string,
  ) {}

  static async start(flags: string[], settings: Record<string, string> = {}): Promise<Cluster> {
    const folder = mkdtempSync(join(tmpdir(), "rami-web-"));
    const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("RAMI_")));
    const child = spawn(PYTHON, ["-m", "rami_cli", "up", "--json", "--ports", "auto", ...flags], {
      cwd: folder,
      env: {
        ...inherited,
        TMPDIR: folder,
        RAMI_BOT_PACE_SECONDS: "0",
        RAMI_BOT_FILL_WAIT_SECONDS: "0.3",
        RAMI_DRAIN_GRACE_SECONDS: "2",
        ...settings,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    child.stderr?.on("data", (data) => {
      said += data;
    });
    const line = await new Promise<string>((resolveLine, reject) => {
      let text = "";
      child.stdout?.on("data", (data) => {
        text += data;
        if (text.includes("\n")) resolveLine(text);
      });
      child.on("exit", (code) => reject(new Error(`rami up ended with ${code}: ${said}`)));
    });
    return new Cluster(JSON.parse(line), child, folder);
  }

  /** Kills every replica of a service at once; the supervisor starts them again on the same ports. */
  kill(module: string): void {
    const pids = this.pids(module);
    if (pids.length === 0) throw new Error(`no process of ${module}`);
    for (const pid of pids) process.kill(pid, "SIGKILL");
  }

  /** The same, but they are started again only when the function that is returned is called. */
  killAndHold(module: string): () => void {
    this.process.kill("SIGSTOP");
    this.kill(module);
    return () => this.process.kill("SIGCONT");
  }

  /** The last lines that every process has logged, for whoever looks into a failed test. */
  logs(lines = 40): string {
    const files = readdirSync(this.folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".log"),
    );
    return files
      .map((name) => {
        const said = readFileSync(join(this.folder, name), "utf8").trimEnd().split("\n").slice(-lines);
        return [`--- ${name}`, ...said].join("\n");
      })
      .join("\n");
  }

  async stop(): Promise<void> {
    if (this.process.exitCode === null) {
      const ended = new Promise((done) => this.process.once("exit", done));
      this.process.kill("SIGTERM");
      this.process.kill("SIGCONT"); // where a test has failed that held it
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The processes that run a module in this cluster. */
  private pids(module: string): number[] {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .filter((name) => {
        try {
          const command = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
          const ours = readFileSync(`/proc/${name}/environ`, "utf8").split("\0").includes(`TMPDIR=${this.folder}`);
          return ours && command[1] === "-m" && command[2] === module;
        } catch {
          return false; // it has ended meanwhile
        }
      })
      .map(Number);
  }
}

/** Shows after each failed test of a file what the processes had to say. */
export function showLogsOfFailures(cluster: () => Cluster | undefined): void {
  afterEach(({ task }) => {
    if (task.result?.state === "fail") console.error(cluster()?.logs());
  });
}
