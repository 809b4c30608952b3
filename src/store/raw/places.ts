/**
 * Where objects lie: a folder, or a bucket of object storage. An object is put whole, and is there whole or not at all, also after a
 * crash; nothing is renamed, appended to or locked. Names are paths with slashes, of letters, digits and `._-`.
 */
export interface Place {
  /**
   * Resolves when the object is there for good, over one of the same name. A file that is given may be gone afterwards; it should lie
   * on the file system of the place, where that is a folder.
   */
  put(name: string, content: { readonly file: string } | { readonly bytes: Uint8Array }): Promise<void>;
  /** Errors, while it is read: `failed/no_object`, and those of the medium. */
  get(name: string): AsyncIterable<Uint8Array>;
  /** Objects whose names begin so, in no order. Objects that come or go meanwhile may be among them or not. */
  list(prefix: string): AsyncIterable<PlacedObject>;
  /** Nothing where there is none of that name. */
  delete(name: string): Promise<void>;
  /** What people call the object: a path, or an address. */
  called(name: string): string;
}

export interface PlacedObject {
  readonly name: string;
  readonly bytes: number;
  /** When it was put, in epoch milliseconds. */
  readonly atMs: number;
}
