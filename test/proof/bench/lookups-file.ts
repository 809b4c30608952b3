/**
 * A stand-in for the service that hands out a stored reductions file, so that making it costs the measured program nothing.
 * A message { name, file } says which; the file lies there with and without `.gz`. Sends its port.
 */
import { once } from 'node:events';
import { createReadStream, statSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface StoredFile {
  readonly name: string;
  readonly file: string;
}

const TYPE = 'application/vnd.retailer.v4+csv';

let stored: StoredFile = { name: '', file: '' };

function sendFile(response: ServerResponse, isGzip: boolean): void {
  const sent = isGzip ? `${stored.file}.gz` : stored.file;
  response.writeHead(200, {
    'content-type': TYPE,
    'content-disposition': `attachment; filename=${stored.name}`,
    'content-length': statSync(sent).size,
    ...(isGzip ? { 'content-encoding': 'gzip' } : {}),
  });
  createReadStream(sent, { highWaterMark: 256 * 1024 }).pipe(response);
}

const server = createServer((request, response) => {
  if (request.url?.startsWith('/token')) {
    response.setHeader('content-type', 'application/json');
    response.end('{"access_token":"bench","token_type":"Bearer","expires_in":299,"scope":""}');
  } else if (request.url?.endsWith('/latest')) response.writeHead(200, { 'content-type': TYPE }).end(stored.name);
  else sendFile(response, /gzip/.test(request.headers['accept-encoding'] ?? ''));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.on('message', (told: StoredFile) => {
  stored = told;
  process.send?.('stored');
});
process.on('disconnect', () => process.exit(0));
process.send?.((server.address() as AddressInfo).port);
