import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// The server keeps the built page in memory and sends a strict content policy: no inline script or
// style, nothing from elsewhere. `npm run dev` speaks to a studio that runs on port 8123.
export default defineConfig({
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
});
