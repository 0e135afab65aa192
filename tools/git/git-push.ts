import { z } from 'zod';
import { fail, Priority, tool, type ToolContext } from '../../src/index.js';
import { plainName } from './git-names.js';
import { type OnRepository, redacted } from './git-repository.js';
import { CHANGING_GIT, GitTool } from './git-tool.js';

/** Timeout for a push in milliseconds, enough for a slow connection. */
const PUSH_TIMEOUT_MS = 120_000;
/** The protocols allowed for remotes. `ext` isn't allowed, because it can start any program. */
const PROTOCOLS = ['https', 'ssh', 'git', 'file'];

const Input = z.object({
  remote: z.string().max(200).default('origin').describe('A configured remote of the repository'),
  branch: z
    .string()
    .max(200)
    .optional()
    .describe('The local branch to push, under its own name; the current branch if omitted'),
  force: z
    .boolean()
    .default(false)
    .describe('If true, discards commits on the remote branch that are missing locally'),
  setUpstream: z
    .boolean()
    .default(false)
    .describe('If true, makes the remote branch the upstream of the local one'),
});

/** Pushes a branch to a configured remote. */
@tool({
  ...CHANGING_GIT,
  name: 'git_push',
  description:
    "Pushes one local branch to a remote that is already configured, never to an address. With force, it overwrites the remote branch. Runs no local hooks and can't ask for passwords.",
  inputSchema: Input,
  priority: Priority.LOW,
  dangerLevel: 'high',
  costTier: 'medium',
  sideEffects: ['write', 'network'],
  reads: ['untrusted'],
  sends: 'outside',
  keywords: ['git push', 'push', 'publish branch', 'upload commits', 'remote', 'force push'],
  mandatoryKeywords: ['git push', 'push the branch'],
  stages: ['completion'],
  examples: ['Push my branch', 'Publish this branch to origin', 'Force push after the rebase'],
  progressParams: ['remote', 'branch', 'force'],
  timeoutMs: PUSH_TIMEOUT_MS,
  dangerFor: ({ force }) => (force ? 'critical' : 'high'),
  // The remote may be at any address that uses one of the allowed protocols.
  conflictKeys: () => ({
    reads: ['git:'],
    writes: ['git:', ...PROTOCOLS.map((protocol) => `${protocol}:`)],
  }),
  async preview(this: OnRepository, { remote, branch, force }, { signal }) {
    const target = plainName(remote);
    const name =
      branch === undefined ? await this.repository.currentBranch(signal) : plainName(branch);
    const known = await this.repository.read(
      [
        'rev-list',
        '--count',
        '--end-of-options',
        `refs/remotes/${target}/${name}..refs/heads/${name}`,
      ],
      { signal },
    );
    const head = await this.repository.commitOf(`refs/heads/${name}`, signal);
    // The repository's configuration decides which address a remote's name means.
    const places = await this.repository.read(['remote', 'get-url', '--push', '--all', target], {
      signal,
    });
    const where = places.exitCode === 0 ? places.stdout.trim().split('\n').map(redacted) : [];
    const commits =
      known.exitCode === 0
        ? `${known.stdout.trim()} commits that weren't there at the last fetch`
        : "a branch that wasn't there at the last fetch";
    return {
      summary: `Pushes ${name} (${(head ?? 'missing').slice(0, 12)}) to ${target}: ${commits}${force ? '; this discards commits there that are missing here' : ''}`,
      recipients: where.length === 0 ? [target] : where.map((place) => `${target} (${place})`),
      reversible: false,
    };
  },
})
export class GitPush extends GitTool {
  async execute(
    { remote = 'origin', branch, force = false, setUpstream = false }: z.input<typeof Input>,
    { signal }: ToolContext,
  ) {
    const target = plainName(remote);
    const remotes = (await this.repository.read(['remote'], { signal })).stdout
      .split('\n')
      .filter((each) => each !== '');
    if (!remotes.includes(target))
      return fail(
        `The repository has no remote ${target}. Its remotes: ${remotes.join(', ') || 'none'}.`,
      );
    const name =
      branch === undefined ? await this.repository.currentBranch(signal) : plainName(branch);
    if (name === '')
      return fail('HEAD is detached, so there is no current branch to push. Pass a branch.');
    const flags = [...(force ? ['--force'] : []), ...(setUpstream ? ['--set-upstream'] : [])];
    const argv = [
      'push',
      '--porcelain',
      '--no-verify',
      '--no-signed',
      '--no-follow-tags',
      '--no-recurse-submodules',
      ...flags,
      '--end-of-options',
      target,
      `refs/heads/${name}:refs/heads/${name}`,
    ];
    const result = await this.repository.write(argv, {
      signal,
      timeoutMs: PUSH_TIMEOUT_MS,
      protocols: PROTOCOLS,
    });
    if (result.exitCode !== 0) return this.repository.failed(`push ${name} to ${target}`, result);
    return { remote: target, branch: name, forced: force };
  }
}
