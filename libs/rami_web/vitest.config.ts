import { defineConfig } from "vitest/config";

/** What is waited for comes soon, or on a busy machine later; the default is one second. */
const patient = { poll: { timeout: 60_000 } };
const slow = { expect: patient, testTimeout: 300_000, hookTimeout: 240_000, fileParallelism: false, maxWorkers: 1 };

export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["test/unit/*.test.ts"], testTimeout: 120_000, expect: patient } },
      { test: { name: "e2e", include: ["test/e2e/*.test.ts"], ...slow } },
      { test: { name: "browser", include: ["test/browser/*.test.ts"], ...slow } },
    ],
  },
});
