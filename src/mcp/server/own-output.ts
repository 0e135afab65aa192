import { Writable } from 'node:stream';

/** Standard output, reserved for protocol messages. */
interface OwnOutput {
  readonly output: Writable;
  /** Gives standard output back to the program. */
  release(): void;
}

/**
 * Reserves standard output for a server's messages. Other output, such as a tool's `console.log`,
 * goes to standard error, because a client treats every line as a message.
 */
export function ownOutput({
  stdout,
  stderr,
}: Pick<NodeJS.Process, 'stdout' | 'stderr'> = process): OwnOutput {
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  return {
    output: new Writable({
      decodeStrings: false,
      write: (chunk: string | Uint8Array, encoding, done) => void write(chunk, encoding, done),
    }),
    release: () => void (stdout.write = write),
  };
}
