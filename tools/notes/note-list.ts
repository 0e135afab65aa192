import { z } from 'zod';
import { tool } from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { NOTE_TOOL, NoteTool } from './note-tool.js';
import { wholeNumber } from '../options/shared-options.js';

/** Maximum number of notes in one result. */
const MAX_RESULTS = 200;
const USUAL_RESULTS = 50;

const Input = z.object({
  tag: z.string().min(1).optional().describe('Only notes with this tag'),
  limit: wholeNumber(USUAL_RESULTS, MAX_RESULTS).describe('Maximum number of notes to return'),
});

/** Lists the project's notes, newest first. */
@tool({
  ...NOTE_TOOL,
  name: 'note_list',
  description:
    'Lists the notes kept with the project, newest first, with id, text, tags and time. "total" counts all matches; "truncated" is true if not all are shown.',
  inputSchema: Input,
  keywords: ['notes', 'list', 'show', 'memos', 'what do you remember', 'reminders'],
  mandatoryKeywords: ['list notes', 'show my notes', 'all notes'],
  stages: ['initial', 'reading'],
  taskTypes: ['search', 'analysis'],
  examples: [
    'Show my notes',
    'What do you remember about this project?',
    'List notes tagged release',
  ],
})
export class NoteList extends NoteTool {
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
