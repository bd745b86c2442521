import { defineConfig } from "vite";

// Relative addresses: the page may be served from any folder. `npm run dev` passes calls on to an edge.
const EDGE = process.env.RAMI_EDGE ?? "http://127.0.0.1:7000";

export default defineConfig({
  base: "./",
  build: { target: "es2022", outDir: "dist", sourcemap: false },
  server: { proxy: { "^/rami\\.": { target: EDGE, changeOrigin: false } } },
});
