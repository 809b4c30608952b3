/**
 * A sender that costs next to nothing, so that what is measured is the receiver: prepared requests over raw connections that are kept
 * open, one request at a time on each.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface Sent {
  readonly seconds: number;
  /** Answers by status; 0: the connection was lost. */
  readonly statuses: Readonly<Record<number, number>>;
  /** From when a message was due to its answer, of those that were accepted, ascending. */
  readonly latenciesMs: readonly number[];
}

export interface SendOptions {
  readonly connections: number;
  readonly seconds: number;
  /** So many a second, each at its own time whether or not the ones before are answered; without it as fast as answers come. */
  readonly perSecond?: number;
}

export async function send(port: number, requests: readonly Buffer[], options: SendOptions): Promise<Sent> {
  const run = new Sending(port, requests, options);
  return run.start();
}

class Sending {
  private readonly port: number;
  private readonly requests: readonly Buffer[];
  private readonly options: SendOptions;
  private readonly statuses: Record<number, number> = {};
  private readonly latenciesMs: number[] = [];
  private readonly idle: Line[] = [];
  /** Times at which messages were due that found no idle connection. */
  private readonly late: number[] = [];
  private next = 0;
  private isOver = false;

  constructor(port: number, requests: readonly Buffer[], options: SendOptions) {
    this.port = port;
    this.requests = requests;
    this.options = options;
  }

  async start(): Promise<Sent> {
    const { connections, seconds, perSecond } = this.options;
    const lines = await Promise.all(Array.from({ length: connections }, () => Line.open(this.port, this)));
    const startedMs = performance.now();
    if (perSecond === undefined) for (const line of lines) this.give(line, startedMs);
    else {
      this.idle.push(...lines);
      await this.pace(startedMs, perSecond, seconds);
    }
    while (performance.now() - startedMs < seconds * 1000) await new Promise((resolve) => setTimeout(resolve, 20));
    this.isOver = true;
    this.late.length = 0; // what no connection was free for is given up
    while (lines.some(({ isBusy }) => isBusy)) await new Promise((resolve) => setTimeout(resolve, 5));
    const took = (performance.now() - startedMs) / 1000;
    for (const line of lines) line.close();
    return { seconds: took, statuses: this.statuses, latenciesMs: this.latenciesMs.sort((a, b) => a - b) };
  }

  answered(line: Line, status: number, dueMs: number): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    if (status === 204) this.latenciesMs.push(performance.now() - dueMs);
    const waiting = this.late.shift();
    if (waiting !== undefined) this.give(line, waiting);
    else if (this.options.perSecond === undefined && !this.isOver) this.give(line, performance.now());
    else this.idle.push(line);
  }

  private give(line: Line, dueMs: number): void {
    line.send(this.requests[this.next++ % this.requests.length]!, dueMs);
  }

  private async pace(startedMs: number, perSecond: number, seconds: number): Promise<void> {
    const total = perSecond * seconds;
    for (let sent = 0; sent < total; ) {
      const due = Math.min(total, Math.floor(((performance.now() - startedMs) / 1000) * perSecond));
      for (; sent < due; sent++) {
        const dueMs = startedMs + (sent / perSecond) * 1000;
        const line = this.idle.shift(); // each in its turn, or one would idle until it is closed
        if (line) this.give(line, dueMs);
        else this.late.push(dueMs);
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
}

class Line {
  isBusy = false;
  private socket: Socket;
  private readonly port: number;
  private readonly owner: Sending;
  private dueMs = 0;
  private text = '';

  private constructor(port: number, owner: Sending, socket: Socket) {
    this.port = port;
    this.owner = owner;
    this.socket = socket;
    this.listen();
  }

  static async open(port: number, owner: Sending): Promise<Line> {
    const socket = connect(port, '127.0.0.1').setNoDelay(true);
    await once(socket, 'connect');
    return new Line(port, owner, socket);
  }

  send(request: Buffer, dueMs: number): void {
    this.isBusy = true;
    this.dueMs = dueMs;
    this.socket.write(request);
  }

  close(): void {
    this.socket.destroy();
  }

  private listen(): void {
    this.socket.on('data', (chunk: Buffer) => this.read(chunk.toString('latin1')));
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => void this.reopen());
  }

  private read(text: string): void {
    this.text += text;
    const end = this.text.indexOf('\r\n\r\n');
    if (end < 0) return;
    const length = Number(/content-length: (\d+)/i.exec(this.text)?.[1] ?? 0);
    if (this.text.length < end + 4 + length) return;
    const status = Number(this.text.slice(9, 12));
    this.text = this.text.slice(end + 4 + length);
    this.isBusy = false;
    this.owner.answered(this, status, this.dueMs);
  }

  private async reopen(): Promise<void> {
    if (!this.isBusy) return;
    this.socket = connect(this.port, '127.0.0.1').setNoDelay(true);
    this.socket.on('error', () => undefined);
    await once(this.socket, 'connect');
    this.listen();
    this.isBusy = false;
    this.text = '';
    this.owner.answered(this, 0, this.dueMs);
  }
}
