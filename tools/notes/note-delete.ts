import { z } from 'zod';
import {
  AccessMode,
  CostTier,
  DangerLevel,
  ExecutionCategory,
  fail,
  Priority,
  SideEffect,
  Stage,
  tool,
  type ToolContext,
} from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { NoteStore, type OnNotes } from './note-store.js';

/** Characters of an id: "note-" and a number. */
const MAX_ID_LENGTH = 30;

const Input = z.object({
  id: z.string().min(1).max(MAX_ID_LENGTH).describe('The id of the note, such as "note-3"'),
});

/** Deletes one of the project's notes for good. */
@tool({
  name: 'note_delete',
  description:
    'Deletes one note by its id for good and returns it. Its id is not given to another note. Take the id from note_list or note_search.',
  version: '1.0.0',
  inputSchema: Input,
  priority: Priority.LOW,
  accessMode: AccessMode.WRITE,
  dangerLevel: DangerLevel.HIGH,
  executionCategory: ExecutionCategory.WRITE,
  costTier: CostTier.FREE,
  sideEffects: [SideEffect.WRITE, SideEffect.FILESYSTEM],
  reads: [],
  sends: 'nowhere',
  category: 'notes',
  keywords: ['note', 'delete', 'remove', 'forget', 'discard'],
  mandatoryKeywords: ['delete the note', 'delete note', 'forget the note'],
  stages: [Stage.EXECUTION],
  taskTypes: ['action'],
  examples: ['Delete note-3', 'Forget the note about Friday', 'Remove the outdated note'],
  progressParams: ['id'],
  timeoutMs: 5_000,
  allowParallel: false,
  conflictKeys(this: OnNotes) {
    return this.notes.keys;
  },
  async preview(this: OnNotes, { id }) {
    const note = (await this.notes.all()).find((each) => each.id === id);
    return note === undefined
      ? `Deletes nothing: there is no note ${id}`
      : { summary: `Deletes the note ${id}`, diff: note.text, reversible: false };
  },
  invalidates: ['notes', 'files', 'search'],
})
export class NoteDelete {
  constructor(private readonly notes: NoteStore = new NoteStore()) {}

  async execute({ id }: z.input<typeof Input>, { signal }: ToolContext) {
    signal?.throwIfAborted();
    return orFail(async () => {
      const deleted = await this.notes.remove(id);
      return deleted
        ? { deleted }
        : fail(
            `Expected the id of a note, got ${JSON.stringify(id)}. List the notes for their ids.`,
          );
    });
  }
}
