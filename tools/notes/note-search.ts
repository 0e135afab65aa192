import { z } from 'zod';
import { tool } from '../../src/index.js';
import { orFail } from '../walls/file-errors.js';
import { NOTE_TOOL, NoteTool } from './note-tool.js';
import { wholeNumber } from '../options/shared-options.js';

/** Maximum length of a query in characters. */
const MAX_QUERY_LENGTH = 200;
/** Maximum number of notes in one result. */
const MAX_RESULTS = 100;
const USUAL_RESULTS = 20;

const Input = z.object({
  query: z
    .string()
    .max(MAX_QUERY_LENGTH)
    .refine((query) => query.trim() !== '', { error: "text that isn't blank" })
    .describe('Words that must all occur in the note or its tags'),
  limit: wholeNumber(USUAL_RESULTS, MAX_RESULTS).describe('Maximum number of notes to return'),
});

/** Finds the project's notes that contain all words of a query, newest first. */
@tool({
  ...NOTE_TOOL,
  name: 'note_search',
  description:
    'Finds the notes kept with the project whose text or tags contain every word of the query, case-insensitively, newest first. "total" counts all matches; "truncated" is true if not all are shown.',
  inputSchema: Input,
  keywords: ['notes', 'search', 'find', 'remember', 'recall', 'look up', 'what did we decide'],
  mandatoryKeywords: ['search notes', 'search my notes', 'find the note'],
  stages: ['reading', 'analysis'],
  taskTypes: ['search'],
  examples: [
    'What did we note about the release?',
    'Search my notes for the API limit',
    'Find the note on deployment',
  ],
})
export class NoteSearch extends NoteTool {
  async execute({ query, limit = USUAL_RESULTS }: z.input<typeof Input>) {
    return orFail(async () => {
      const words = query
        .toLowerCase()
        .split(/\s+/)
        .filter((word) => word !== '');
      const fitting = (await this.notes.all())
        .filter(({ text, tags }) => {
          const searched = [text, ...tags].join('\n').toLowerCase();
          return words.every((word) => searched.includes(word));
        })
        .reverse();
      return {
        notes: fitting.slice(0, limit),
        total: fitting.length,
        truncated: fitting.length > limit,
      };
    });
  }
}
