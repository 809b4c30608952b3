/** A stand-in for the service that hands out one stored answer, so that making answers costs the measured program nothing. */
import { once } from 'node:events';
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const [file = ''] = process.argv.slice(2);

const server = createServer((request, response) => {
  if (request.url?.startsWith('/token')) {
    response.setHeader('content-type', 'application/json');
    response.end('{"access_token":"bench","token_type":"Bearer","expires_in":299,"scope":""}');
    return;
  }
  const isGzip = /gzip/.test(request.headers['accept-encoding'] ?? '') && process.env.BENCH_GZIP === '1';
  const sent = isGzip ? `${file}.gz` : file;
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': statSync(sent).size,
    ...(isGzip ? { 'content-encoding': 'gzip' } : {}),
  });
  createReadStream(sent, { highWaterMark: 256 * 1024 }).pipe(response);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.send?.((server.address() as AddressInfo).port);
process.on('disconnect', () => process.exit(0));
