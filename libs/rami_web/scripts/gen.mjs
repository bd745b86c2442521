// Generates src/gen from the contract with buf and protoc-gen-es. Nothing in src/gen is committed: every script
// that needs it runs this first. BUF and PYTHON name the two programs elsewhere than in the environment of the
// repository; Python only hands out google.rpc's own two files.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const web = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const root = resolve(web, "../..");
const out = join(web, "src/gen");
const stamp = join(out, ".stamp");

/** The newest change of what the code is made from, in milliseconds. */
function newestSource() {
  const files = readdirSync(join(root, "protos"), { recursive: true }).map((name) => join(root, "protos", name));
  return Math.max(
    ...[...files, join(web, "package-lock.json"), fileURLToPath(import.meta.url)].map((f) => statSync(f).mtimeMs),
  );
}

const fingerprint = String(newestSource());
if (existsSync(stamp) && readFileSync(stamp, "utf8") === fingerprint) process.exit(0);

const inVenv = (name) => (existsSync(join(root, ".venv/bin", name)) ? join(root, ".venv/bin", name) : name);
const python = process.env.PYTHON ?? inVenv("python");
const buf = process.env.BUF ?? inVenv("buf");
const template = {
  version: "v2",
  inputs: [{ directory: root, exclude_paths: [join(root, "protos/rami/store")] }],
  plugins: [{ local: join(web, "node_modules/.bin/protoc-gen-es"), out, opt: ["target=ts", "import_extension=ts"] }],
};
execFileSync(python, [join(root, "scripts/generate.py"), "--export-common", join(root, "build/protos")]);
rmSync(out, { recursive: true, force: true });
execFileSync(buf, ["generate", "--template", JSON.stringify(template)], { cwd: root, stdio: "inherit" });
mkdirSync(out, { recursive: true });
writeFileSync(stamp, fingerprint);
