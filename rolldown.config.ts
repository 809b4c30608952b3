/**
 * The program as few files: Node needs a second and a half to find and read the thousand modules that it is made of, and a third of that
 * for these. What holds native code, starts threads of its own files, or is needed by few commands stays in node_modules.
 */
import { defineConfig } from 'rolldown';

export default defineConfig({
  input: 'src/main.ts',
  platform: 'node',
  logLevel: 'warn',
  external: [/^@duckdb\/node-bindings/, /^@opentelemetry\//, 'fastify', 'libsql', 'nodemailer', 'pg-native', 'pino'],
  output: { dir: 'dist/src', format: 'esm', chunkFileNames: '[name]-[hash].js', sourcemap: true },
});
