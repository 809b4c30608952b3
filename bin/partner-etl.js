#!/usr/bin/env node
'use strict';
// Sets the size of the thread pool, which must happen before Node first uses it; loading an ES module uses it already,
// so this file is CommonJS (see package.json beside it). DuckDB's queries occupy threads of that pool: with the four of
// the default, file system calls starve behind them for seconds.
process.env.UV_THREADPOOL_SIZE ??= '8';

const { existsSync } = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

const main = path.join(__dirname, '..', 'dist', 'src', 'main.js');
if (existsSync(main)) {
  import(pathToFileURL(main).href);
} else {
  process.stderr.write('partner-etl: not built yet\n  fix: npm run build\n');
  process.exitCode = 2;
}
