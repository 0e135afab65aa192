import { expect, it } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
import { scriptedModel, Session } from '../../src/chat.js';
import { ManualClock } from '../../src/testing.js';
import { jobEntry, ManifestTree } from '../capability/manifest-tree.js';

async function setUp() {
  const tree = new ManifestTree({ 'functions.json': [], 'jobs.json': [jobEntry('Report')] });
  const clock = new ManualClock(1_000);
  const jobs = await CapabilityRegistry.load({ root: tree.root, clock });
  return { clock, jobs, health: () => jobs.summary().jobs[0]!.health };
}

it("a restored session keeps its job, and the catalogue counts the job's success", async () => {
  const { clock, jobs, health } = await setUp();
  const started = Session.create({ job: 'Report' });
  const session = Session.fromJSON(JSON.parse(JSON.stringify(started)));
  expect([started.job, session.job]).toEqual(['Report', 'Report']);
  expect(health().job.total).toBe(0);
  const model = scriptedModel(['Done.']);
  const { session: ended } = await session.start({ jobs, clock, model }, 'Write the report');
  expect([ended.status, ended.job]).toEqual(['completed', 'Report']);
  expect(health()).toMatchObject({
    job: { total: 1, success: 1 },
    last_invocation: { success: true, latency_ms: 0, timestamp: 1 },
  });
});

it('a run that ends with an error counts as a failed job', async () => {
  const { clock, jobs, health } = await setUp();
  const model = scriptedModel([]); // The scripted model has no answer, so the run fails.
  const { session } = await Session.create({ job: 'Report' }).start({ jobs, clock, model }, 'Go');
  expect([session.status, health().job.failure]).toEqual(['error', 1]);
});
