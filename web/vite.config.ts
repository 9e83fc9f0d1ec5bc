import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type UserConfig } from "vite";

// The server keeps the built page in memory and sends a strict content policy: no inline script or
// style, nothing from elsewhere. `npm run dev` speaks to a studio that runs on port 8123.
const studio: UserConfig = {
  base: "./",
  plugins: [svelte()],
  build: {
    outDir: "../src/regard/studio/page",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 400,
  },
  server: { proxy: { "/api": { target: "http://127.0.0.1:8123", changeOrigin: true } } },
};

// The same views around a trace that lies in the page: one script and one style, which regard.show.page puts
// into one file with the trace.
const explorer: UserConfig = {
  publicDir: false,
  plugins: [svelte()],
  define: { "process.env.NODE_ENV": '"production"' },
  build: {
    outDir: "../src/regard/show/explorer",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    lib: {
      entry: "src/explorer.ts",
      formats: ["iife"],
      name: "explorer",
      fileName: () => "explorer.js",
      cssFileName: "explorer",
    },
  },
};

export default defineConfig(({ mode }) => (mode === "explorer" ? explorer : studio));
