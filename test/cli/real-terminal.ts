import { execFileSync } from 'node:child_process';
import { expect } from 'vitest';
import { DEADLINE_MS } from '../programs.js';
import { cli } from './command-line.js';

/** The program in a tmux terminal with its own tmux server. */
export class RealTerminal {
  readonly #server = `tooldex-${process.pid}-${Math.random().toString(36).slice(2)}`;

  constructor(args: readonly string[], cwd: string) {
    const quoted = [process.execPath, cli.program, ...args]
      .map((arg) => `'${arg.replaceAll("'", `'\\''`)}'`)
      .join(' ');
    this.#tmux(
      '-f',
      '/dev/null',
      'new-session',
      '-d',
      '-x',
      '90',
      '-y',
      '40',
      '-c',
      cwd,
      `NO_COLOR=1 ${quoted}; echo "ended with $?"; read -r _`,
    );
  }

  /** Returns the lines on the screen, without empty lines. */
  get screen(): string {
    return this.#tmux('capture-pane', '-p').replace(/\n+/g, '\n');
  }

  types(...keys: readonly string[]): void {
    this.#tmux('send-keys', ...keys);
  }

  async shows(text: string): Promise<void> {
    await expect.poll(() => this.screen, { timeout: DEADLINE_MS }).toContain(text);
  }

  close(): void {
    this.#tmux('kill-server');
  }

  #tmux(...args: readonly string[]): string {
    return execFileSync('tmux', ['-L', this.#server, ...args], { encoding: 'utf8' });
  }
}
