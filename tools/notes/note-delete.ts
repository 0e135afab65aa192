import { z } from 'zod';
import { fail, Priority, tool, type ToolContext } from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { type OnNotes } from './note-store.js';
import { CHANGING_NOTES, NoteTool } from './note-tool.js';

/** Maximum length of an id in characters. An id is "note-" and a number. */
const MAX_ID_LENGTH = 30;

const Input = z.object({
  id: z.string().min(1).max(MAX_ID_LENGTH).describe('The id of the note, such as "note-3"'),
});

/** Deletes one of the project's notes permanently. */
@tool({
  ...CHANGING_NOTES,
  name: 'note_delete',
  description:
    "Permanently deletes the note with this id, and returns it. The id isn't reused. Get the id from note_list or note_search.",
  inputSchema: Input,
  priority: Priority.LOW,
  dangerLevel: 'high',
  keywords: ['note', 'delete', 'remove', 'forget', 'discard'],
  mandatoryKeywords: ['delete the note', 'delete note', 'forget the note'],
  taskTypes: ['action'],
  examples: ['Delete note-3', 'Forget the note about Friday', 'Remove the outdated note'],
  async preview(this: OnNotes, { id }) {
    const note = (await this.notes.all()).find((each) => each.id === id);
    return note === undefined
      ? `Deletes nothing: the note ${id} doesn't exist`
      : { summary: `Deletes the note ${id}`, diff: note.text, reversible: false };
  },
})
export class NoteDelete extends NoteTool {
  async execute({ id }: z.input<typeof Input>, { signal }: ToolContext) {
    signal?.throwIfAborted();
    return orFail(async () => {
      const deleted = await this.notes.remove(id);
      return deleted
        ? { deleted }
        : fail(`There is no note ${JSON.stringify(id)}. List the notes to see their ids.`);
    });
  }
}
