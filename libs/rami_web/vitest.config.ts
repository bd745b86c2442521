import { defineConfig } from "vitest/config";

const slow = { testTimeout: 300_000, hookTimeout: 120_000, fileParallelism: false, maxWorkers: 1 };

export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["test/unit/*.test.ts"], testTimeout: 60_000 } },
      { test: { name: "e2e", include: ["test/e2e/*.test.ts"], ...slow } },
      { test: { name: "browser", include: ["test/browser/*.test.ts"], ...slow } },
    ],
  },
});
