import { z } from 'zod';
import { fail, tool, type ToolContext } from '../../src/index.js';
import { plainName, revision } from './git-names.js';
import { CHANGING_GIT, GitTool } from './git-tool.js';

const Input = z.object({
  branch: z.string().max(200).describe('The branch to switch to'),
  create: z
    .boolean()
    .default(false)
    .describe('If true, creates the branch first; it must not exist yet'),
  startPoint: z
    .string()
    .max(200)
    .optional()
    .describe('The commit at which a new branch starts; the current commit if omitted'),
});

/** Switches to another branch, and creates it if requested. */
@tool({
  ...CHANGING_GIT,
  name: 'git_switch',
  description:
    'Changes the work tree to another local branch, or creates a branch and changes to it. Fails if uncommitted changes would be lost. Runs no hooks.',
  inputSchema: Input,
  keywords: [
    'git switch',
    'switch',
    'checkout',
    'branch',
    'new branch',
    'create branch',
    'change branch',
  ],
  mandatoryKeywords: ['git switch', 'git checkout', 'create a branch'],
  examples: ['Create a branch feature/search', 'Switch to main', 'Check out the release branch'],
  progressParams: ['branch', 'create'],
  timeoutMs: 60_000,
  conflictKeys: () => ['git:', 'file:'],
  preview: ({ branch, create, startPoint }) => ({
    summary: create
      ? `Creates the branch ${branch}${startPoint === undefined ? '' : ` at ${startPoint}`} and switches to it`
      : `Changes the files in the folder to those of ${branch}`,
    reversible: true,
  }),
  invalidates: ['git', 'files'],
})
export class GitSwitch extends GitTool {
  async execute(
    { branch, create = false, startPoint }: z.input<typeof Input>,
    { signal }: ToolContext,
  ) {
    const name = plainName(branch);
    const start = startPoint === undefined ? [] : [revision(startPoint)];
    if (!create && start.length > 0)
      return fail(
        'startPoint only works with create: true. Omit it to switch to an existing branch.',
      );
    const target = create
      ? ['--no-track', '--create', name, '--end-of-options', ...start]
      : ['--end-of-options', name];
    const result = await this.repository.write(
      ['switch', '--quiet', '--no-guess', '--no-recurse-submodules', ...target],
      { signal },
    );
    if (result.exitCode !== 0) return this.repository.failed(`switch to ${name}`, result);
    return { branch: name, created: create };
  }
}
