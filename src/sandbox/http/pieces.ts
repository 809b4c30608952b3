/** Answers on their way to the network: bytes collected into pieces of a size that is worth a system call. */

/** A piece is handed on once it holds this much. */
export const PIECE_BYTES = 64 * 1024;
/** Room above PIECE_BYTES, so that what is written whole need not look for the end of the buffer. */
export const PIECE_ROOM_BYTES = 8 * 1024;

/** Text as the bytes of its UTF-8 form, one character a byte: such text is written without converting anything. */
export function asBytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** Mutable and open, because a million items an answer are written into it. `at` is where the next byte goes. */
export class PieceBuffer {
  bytes = Buffer.allocUnsafeSlow(PIECE_BYTES + PIECE_ROOM_BYTES);
  at = 0;

  get full(): boolean {
    return this.at >= PIECE_BYTES;
  }

  /** Appends one-byte text of any length. */
  write(text: string): void {
    if (this.at + text.length > this.bytes.length) {
      const grown = Buffer.allocUnsafeSlow(this.at + text.length + PIECE_ROOM_BYTES);
      grown.set(this.bytes.subarray(0, this.at));
      this.bytes = grown;
    }
    this.at += this.bytes.write(text, this.at, 'latin1');
  }

  /** What was written since the last call; the buffer starts afresh, since the network still holds the bytes. */
  take(): Buffer {
    const piece = this.bytes.subarray(0, this.at);
    this.bytes = Buffer.allocUnsafeSlow(PIECE_BYTES + PIECE_ROOM_BYTES);
    this.at = 0;
    return piece;
  }
}
