import { expect, it, vi } from 'vitest';
import { traceTools } from '../../../src/audit/trace/trace-tools.js';

vi.mock('oxc-parser', () => {
  throw new Error('It is not installed');
});
vi.mock('oxc-resolver', () => {
  throw new Error('It is not installed');
});

it('an audit without its optional packages lists all of them and one command that installs them', async () => {
  await expect(traceTools({ root: '.', tools: [] })).rejects.toMatchObject({
    code: 'MISSING_PACKAGE',
    message: expect.stringContaining('Run npm install oxc-parser oxc-resolver.') as string,
  });
});
