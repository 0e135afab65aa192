import { z } from 'zod';
import {
  AccessMode,
  CostTier,
  DangerLevel,
  ExecutionCategory,
  Priority,
  SideEffect,
  Stage,
  tool,
} from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { NoteStore, type OnNotes } from './note-store.js';

/** Notes of one answer: what a model can take in. */
const MAX_RESULTS = 200;
const USUAL_RESULTS = 50;

const Input = z.object({
  tag: z.string().min(1).optional().describe('Only notes with this tag'),
  limit: z
    .number()
    .int()
    .min(1)
    .max(MAX_RESULTS)
    .default(USUAL_RESULTS)
    .describe('Most notes to return'),
});

/** Lists the project's notes, the newest first. */
@tool({
  name: 'note_list',
  description:
    'Lists the notes kept with the project, the newest first, with id, text, tags and time. "total" counts all that fit; "truncated" says when not all are shown.',
  version: '1.0.0',
  inputSchema: Input,
  priority: Priority.MEDIUM,
  accessMode: AccessMode.READONLY,
  dangerLevel: DangerLevel.SAFE,
  executionCategory: ExecutionCategory.READ_ONLY,
  costTier: CostTier.FREE,
  sideEffects: SideEffect.NONE,
  reads: ['private', 'untrusted'],
  sends: 'nowhere',
  category: 'notes',
  keywords: ['notes', 'list', 'show', 'memos', 'what do you remember', 'reminders'],
  mandatoryKeywords: ['list notes', 'show my notes', 'all notes'],
  stages: [Stage.INITIAL, Stage.READING],
  taskTypes: ['search', 'analysis'],
  examples: [
    'Show my notes',
    'What do you remember about this project?',
    'List notes tagged release',
  ],
  progressParams: ['tag', 'limit'],
  timeoutMs: 5_000,
  allowParallel: true,
  conflictKeys(this: OnNotes) {
    return { reads: this.notes.keys };
  },
})
export class NoteList {
  constructor(private readonly notes: NoteStore = new NoteStore()) {}

  async execute({ tag, limit = USUAL_RESULTS }: z.input<typeof Input>) {
    return orFail(async () => {
      const fitting = (await this.notes.all())
        .filter((note) => tag === undefined || note.tags.includes(tag))
        .reverse();
      return {
        notes: fitting.slice(0, limit),
        total: fitting.length,
        truncated: fitting.length > limit,
      };
    });
  }
}
